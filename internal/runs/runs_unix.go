//go:build unix

package runs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Record is the record of a run of this process.
type Record struct {
	*os.File
	path string
}

// New makes the record of a run. It appears under its name only once it is
// locked, so that nobody takes it for one left behind.
func (d Dir) New(run string) (*Record, error) {
	if d.path == "" {
		return nil, errors.New("no home directory to keep it in")
	}
	f, err := os.CreateTemp(d.path, "new-")
	if err != nil {
		return nil, err
	}
	r := &Record{f, d.file(run)}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), r.path); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return r, nil
}

// Close ends and removes the record.
func (r *Record) Close() error { return errors.Join(os.Remove(r.path), r.File.Close()) }

// List returns the names of the runs that go on, and removes what was left
// behind by others.
func (d Dir) List() ([]string, error) {
	if d.path == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var runs []string
	for _, e := range entries {
		run, isRecord := strings.CutSuffix(e.Name(), ending)
		if live, _ := d.live(e.Name()); live && isRecord {
			runs = append(runs, run)
		}
	}
	return runs, err
}

// live says whether the maker of a record is there, and removes the record if
// not.
func (d Dir) live(name string) (bool, error) {
	path := filepath.Join(d.path, name)
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil || !strings.HasSuffix(name, ending) && young(f) {
		return false, err
	}
	_ = os.Remove(d.socket(strings.TrimSuffix(name, ending))) // there is none without ctl
	return false, os.Remove(path)
}

// Live says whether the run goes on.
func (d Dir) Live(run string) bool {
	live, _ := d.live(filepath.Base(d.file(run)))
	return live
}

// Open opens the record of a run that goes on. A unique beginning of its name
// is enough.
func (d Dir) Open(begin string) (run string, f *os.File, err error) {
	all, err := d.List()
	if err != nil {
		return "", nil, err
	}
	var fits []string
	for _, name := range all {
		if strings.HasPrefix(name, begin) {
			fits = append(fits, name)
		}
	}
	switch len(fits) {
	case 0:
		return "", nil, fmt.Errorf("run %q: no such run goes on: gosrt ps lists them", begin)
	case 1:
		f, err = os.Open(d.file(fits[0]))
		return fits[0], f, err
	}
	return "", nil, fmt.Errorf("run %q: %d runs begin so: gosrt ps lists them", begin, len(fits))
}

// young says that a file may be between its making and its lock.
func young(f *os.File) bool {
	info, err := f.Stat()
	return err != nil || time.Since(info.ModTime()) < time.Minute
}
