package linux

import (
	"bytes"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/policy"
)

// errDone says that the guard has performed the call itself.
var errDone = errors.New("the call is done")

// maxSame is how large a file may be to be compared; git's configuration is far
// smaller.
const maxSame = 1 << 20

// replacesWithSame performs a refused rename that would change nothing: the file
// in the way holds the same bytes. What is left is to remove the old name, as the
// rename would. git writes its configuration anew for a value that it already
// has (submodule update, push -u).
func (in inspection) replacesWithSame(from, to spot) bool {
	if in.kind(from) != unix.S_IFREG || in.kind(to) != unix.S_IFREG || in.judge(policy.ActRemove, from) != nil {
		return false
	}
	a, okA := in.contents(from)
	b, okB := in.contents(to)
	if !okA || !okB || !bytes.Equal(a, b) {
		return false
	}
	// Within the command's own mounts, so nothing goes that it could not remove.
	return unix.Unlinkat(in.view.root, strings.TrimPrefix(from.path, "/"), 0) == nil
}

func (v view) contents(s spot) ([]byte, bool) {
	return readRegular(v.root, s.path, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_SYMLINKS)
}

// readRegular reads a whole regular file of at most maxSame bytes.
func readRegular(dir int, path string, resolve uint64) ([]byte, bool) {
	fd, err := unix.Openat2(dir, path, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK, Resolve: resolve})
	if err != nil {
		return nil, false
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSame {
		return nil, false
	}
	data := make([]byte, info.Size()+1)
	n, _ := f.Read(data)
	return data[:n], int64(n) == info.Size()
}
