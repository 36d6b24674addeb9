package linux

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// What the kernel will not find either may go on; every other fault refuses.
func TestKernelFails(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{unix.ENOENT, true}, {unix.ENOTDIR, true}, {unix.ELOOP, true}, {unix.EBADF, true}, {unix.EFAULT, true},
		{errNoName, true}, {ErrGone, true}, {&os.PathError{Op: "open", Path: "/proc/7/status", Err: unix.ENOENT}, true},
		{fmt.Errorf("memory of the caller: %w", os.ErrProcessDone), true},
		{errFailClosed, false}, {unix.EMFILE, false}, {unix.ENFILE, false}, {unix.ENOMEM, false}, {unix.EACCES, false},
		{unix.EPERM, false}, {unix.EIO, false}, {fmt.Errorf("memory of the caller: %w", unix.EPERM), false},
		{fmt.Errorf("anything else"), false},
	} {
		if got := kernelFails(tt.err); got != tt.want {
			t.Errorf("%v: got %v", tt.err, got)
		}
	}
}
