//go:build linux || darwin

package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/gosrt/gosrt/policy"
)

// osFS is the host's file tree for policy.Compile.
type osFS struct{}

func (osFS) Lstat(path string) (policy.FileInfo, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return policy.FileInfo{}, err
	}
	st := fi.Sys().(*syscall.Stat_t)
	return policy.FileInfo{
		Mode: fi.Mode(), Dev: uint64(st.Dev), Ino: st.Ino,
		UID: int(st.Uid), Nlink: uint64(st.Nlink), Size: fi.Size(),
	}, nil
}

func (osFS) Readlink(path string) (string, error) { return os.Readlink(path) }

func (osFS) ReadDir(path string) ([]policy.DirEntry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	out := make([]policy.DirEntry, len(entries))
	for i, e := range entries {
		out[i] = policy.DirEntry{Name: e.Name(), Type: e.Type()}
	}
	return out, err
}

// maxGitFile is the limit that policy.FS documents.
const maxGitFile = 1 << 20

// ReadFile never waits: what git reads is a regular file, and a pipe or device
// planted in its place must not hold up the start.
func (osFS) ReadFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil, cmp.Or(err, fmt.Errorf("%q: not a regular file", path))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxGitFile+1))
	if err == nil && len(data) > maxGitFile {
		err = fmt.Errorf("%q: larger than %d bytes", path, maxGitFile)
	}
	return data, err
}

func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
