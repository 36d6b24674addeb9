//go:build linux || darwin

package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/gosrt/gosrt/policy"
)

// osFS is the host's file tree for policy.Compile.
type osFS struct{}

// Lstat asks the system itself: a start asks a hundred times, and os.Lstat makes
// several values of each answer.
func (osFS) Lstat(path string) (policy.FileInfo, error) {
	var st syscall.Stat_t
	err := syscall.Lstat(path, &st)
	for errors.Is(err, syscall.EINTR) { // a file system in user space may answer so
		err = syscall.Lstat(path, &st)
	}
	if err != nil {
		return policy.FileInfo{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return policy.FileInfo{
		Mode: fileMode(uint32(st.Mode)), Dev: uint64(st.Dev), Ino: st.Ino,
		UID: int(st.Uid), Nlink: uint64(st.Nlink), Size: st.Size,
	}, nil
}

// fileTypes are the types of inode(7) in io/fs's words; a regular file has no bit.
var fileTypes = map[uint32]fs.FileMode{
	syscall.S_IFDIR:  fs.ModeDir,
	syscall.S_IFLNK:  fs.ModeSymlink,
	syscall.S_IFIFO:  fs.ModeNamedPipe,
	syscall.S_IFSOCK: fs.ModeSocket,
	syscall.S_IFBLK:  fs.ModeDevice,
	syscall.S_IFCHR:  fs.ModeDevice | fs.ModeCharDevice,
}

func fileMode(st uint32) fs.FileMode {
	return fileTypes[st&syscall.S_IFMT] | fs.FileMode(st&0o777)
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
