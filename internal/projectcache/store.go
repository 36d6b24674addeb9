package projectcache

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Store is the directory that holds the entries. The zero Store is not usable.
type Store struct {
	Root string // absolute
}

// Entry is one project's cache.
type Entry struct {
	Project string // absolute path of the project
	Path    string // the entry's directory
}

// Data is the part that is writable inside.
func (e Entry) Data() string { return filepath.Join(e.Path, "data") }

// ErrInUse says that a command is running with the entry.
var ErrInUse = errors.New("in use by a running command")

// For names project's entry without creating it. Project is absolute and
// resolved; two spellings of one place would be two caches.
func (s Store) For(project string) Entry {
	sum := sha256.Sum256([]byte(project))
	name := fmt.Sprintf("%.40s-%x", filepath.Base(project), sum[:8])
	return Entry{Project: project, Path: filepath.Join(s.Root, name)}
}

// Open creates project's entry where it is missing and marks it as in use until
// release is called or the process ends.
func (s Store) Open(project string) (e Entry, release func(), err error) {
	e = s.For(project)
	if err := os.MkdirAll(s.Root, 0o700); err != nil {
		return Entry{}, nil, err
	}
	for _, dir := range []string{e.Path, e.Data()} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return Entry{}, nil, err
		}
		if err := plainDirectory(dir); err != nil {
			return Entry{}, nil, err
		}
	}
	if err := e.name(project); err != nil {
		return Entry{}, nil, err
	}
	release, err = lock(e.file("lock"), shared)
	return e, release, err
}

// plainDirectory refuses a link. Data becomes a write root and is emptied, so a
// link that something planted would open, or empty, what it leads to.
func plainDirectory(dir string) error {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%q: not a directory of its own; remove it", dir)
	}
	return err
}

// name writes whose entry it is; os.Root refuses a link that leads out of it.
func (e Entry) name(project string) error {
	root, err := os.OpenRoot(e.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.WriteFile("project", []byte(project), 0o600)
}

func (e Entry) file(name string) string { return filepath.Join(e.Path, name) }

// List returns the entries by project path. A missing Root holds none.
func (s Store) List() ([]Entry, error) {
	dirs, err := os.ReadDir(s.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, d := range dirs {
		path := filepath.Join(s.Root, d.Name())
		project, err := os.ReadFile(filepath.Join(path, "project"))
		if err != nil {
			continue // not an entry of ours
		}
		list = append(list, Entry{Project: string(project), Path: path})
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.Project, b.Project) })
	return list, nil
}

// Usage is what an entry takes and when a command last started with it.
type Usage struct {
	Bytes int64 // sum of the sizes of regular files
	Used  time.Time
}

// Usage walks the entry.
func (e Entry) Usage() (Usage, error) {
	info, err := os.Stat(e.file("project")) // rewritten by every Open
	if err != nil {
		return Usage{}, err
	}
	u := Usage{Used: info.ModTime()}
	err = filepath.WalkDir(e.Data(), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // unreadable or not counted; the sum is for people
		}
		if info, err := d.Info(); err == nil {
			u.Bytes += info.Size()
		}
		return nil
	})
	return u, err
}

// Remove empties and removes the entry. It returns ErrInUse, and changes
// nothing, while a command runs with it.
func (e Entry) Remove() error {
	release, err := lock(e.file("lock"), exclusive)
	if err != nil {
		return err
	}
	defer release()
	if err := openDirectories(e.Data()); err != nil {
		return err
	}
	return os.RemoveAll(e.Path)
}

// openDirectories makes every directory beneath dir writable for its owner: Go's
// module cache is read-only on purpose, and RemoveAll would stop there. A link
// planted inside cannot lead the change out of dir, since os.Root refuses it.
func openDirectories(dir string) error {
	err := plainDirectory(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return root.Chmod(path, 0o700)
		}
		return err
	})
}
