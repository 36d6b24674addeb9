package linux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// quarantine is a private directory for what must not stay where it is. It is
// made when the first file comes; nothing in it is ever removed by gosrt.
type quarantine struct {
	state string // gosrt's own state directory; empty: there is none

	mu   sync.Mutex
	dir  *os.File
	held int
}

// open makes the directory of this run.
func (q *quarantine) open() (*os.File, error) {
	if q.dir != nil {
		return q.dir, nil
	}
	if q.state == "" {
		return nil, errors.New("there is no state directory")
	}
	parent := filepath.Join(q.state, "quarantine")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(parent, time.Now().UTC().Format("20060102T150405Z")+"-")
	if err != nil {
		return nil, err
	}
	q.dir, err = os.Open(path)
	return q.dir, err
}

// take moves a name out of a directory and says where to. The directory is open,
// so nobody can put another in its place.
func (q *quarantine) take(dir *os.File, name string) (string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	to, err := q.open()
	if err != nil {
		return "", err
	}
	q.held++
	kept := strconv.Itoa(q.held) + "-" + name
	err = unix.Renameat2(int(dir.Fd()), name, int(to.Fd()), kept, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EXDEV) {
		err = carry(dir, name, to, kept)
	}
	if err != nil {
		return "", fmt.Errorf("move to quarantine: %w", err)
	}
	return filepath.Join(to.Name(), kept), nil
}

// carry copies a name to another file system and removes it. Links are copied as
// links; what is neither file, directory nor link is only removed.
func carry(from *os.File, name string, to *os.File, kept string) error {
	source, err := os.OpenRoot(fdPath(from))
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Lstat(name)
	if err != nil {
		return err
	}
	target := filepath.Join(fdPath(to), kept)
	switch {
	case info.IsDir():
		inner, err := source.OpenRoot(name)
		if err != nil {
			return err
		}
		defer inner.Close()
		if err := os.CopyFS(target, inner.FS()); err != nil {
			return err
		}
	case info.Mode().IsRegular():
		data, err := source.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(target, data, 0o600); err != nil {
			return err
		}
	case info.Mode()&os.ModeSymlink != 0:
		link, err := source.Readlink(name)
		if err != nil {
			return err
		}
		if err := os.Symlink(link, target); err != nil {
			return err
		}
	}
	return source.RemoveAll(name)
}

func fdPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

func (q *quarantine) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dir != nil {
		q.dir.Close()
	}
}
