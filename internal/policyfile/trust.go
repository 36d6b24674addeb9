package policyfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Store remembers which project files the user trusts: exactly that content at
// exactly that path. It lies in gosrt's state directory, which no policy opens
// for writing, with one file for each trusted path.
type Store struct {
	// Dir is gosrt's state directory, absolute. Empty: nothing is trusted.
	Dir string
}

// record is what one file of the store holds.
type record struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

func newRecord(p Project) record {
	sum := sha256.Sum256(p.Source.Data)
	return record{Path: p.Path, SHA256: hex.EncodeToString(sum[:])}
}

func (s Store) dir() string { return filepath.Join(s.Dir, "trust") }

func (s Store) file(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(s.dir(), hex.EncodeToString(sum[:])+".json")
}

// Trusted says whether the user has trusted exactly this content. A store that
// somebody else could have written is an error, not a no: it needs looking at.
func (s Store) Trusted(p Project) (bool, error) {
	if s.Dir == "" {
		return false, nil
	}
	if err := s.check(); err != nil {
		return false, ignoreMissing(err)
	}
	known, err := readRecord(s.file(p.Path))
	if err != nil {
		return false, ignoreMissing(err)
	}
	return known == newRecord(p), nil
}

// check refuses a store that somebody else could have written.
func (s Store) check() error {
	return errors.Join(checkPrivate(s.Dir), checkPrivate(s.dir()))
}

func readRecord(file string) (record, error) {
	data, err := readPrivate(file)
	if err != nil {
		return record{}, err
	}
	var known record
	if err := json.Unmarshal(data, &known); err != nil {
		return record{}, fmt.Errorf("trust store %q: %w; remove it and run gosrt trust again", file, err)
	}
	return known, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Trust records the content of p, which the user has seen.
func (s Store) Trust(p Project) error {
	if s.Dir == "" {
		return errors.New("trust store: no state directory; set HOME or XDG_STATE_HOME")
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("trust store: %w", err)
	}
	if err := checkPrivate(s.Dir); err != nil {
		return err
	}
	if err := os.Mkdir(s.dir(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("trust store: %w", err)
	}
	if err := s.check(); err != nil {
		return err
	}
	data, err := json.Marshal(newRecord(p))
	if err != nil {
		return fmt.Errorf("BUG(gosrt): trust record: %w", err)
	}
	return replaceFile(s.file(p.Path), append(data, '\n'))
}

// replaceFile writes a new file and renames it over the old one, so that a link
// at the old name is replaced, not followed, and a reader sees all or nothing.
func replaceFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*") // O_EXCL, mode 0600
	if err != nil {
		return fmt.Errorf("trust store: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("trust store: %w", err)
	}
	return nil
}

// checkPrivate refuses a directory that is a link, or that others own or can write.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("trust store: %w", err)
	}
	switch {
	case !info.IsDir():
		return fmt.Errorf("trust store %q: not a directory of its own; remove it", dir)
	case !ownedByUs(info):
		return fmt.Errorf("trust store %q: belongs to somebody else; set XDG_STATE_HOME to a place of your own", dir)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("trust store %q: others can write it; run chmod 700 on it", dir)
	}
	return nil
}

func readPrivate(name string) ([]byte, error) {
	f, err := openPlain(name, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, readError(name, err)
	}
	if !ownedByUs(info) || info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("trust store %q: others could have written it; remove it and run gosrt trust again", name)
	}
	return io.ReadAll(io.LimitReader(f, maxBytes))
}
