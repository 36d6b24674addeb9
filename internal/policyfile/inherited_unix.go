//go:build unix

package policyfile

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Inherited takes over a descriptor that the caller left open for reading, and
// closes it to everything that gosrt starts. One that has close-on-exec already
// did not come through an exec: it is gosrt's own.
func Inherited(fd int) (*os.File, error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC != 0 {
		return nil, fmt.Errorf("descriptor %d: not open", fd)
	}
	mode, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || mode&unix.O_ACCMODE == unix.O_WRONLY {
		return nil, fmt.Errorf("descriptor %d: not open for reading", fd)
	}
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "inherited"), nil
}
