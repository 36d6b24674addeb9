package policyfile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Revoke forgets the path of p, whatever the file holds now. To revoke what was
// not trusted is no error.
func (s Store) Revoke(p Project) error {
	if s.Dir == "" {
		return nil
	}
	if err := s.check(); err != nil { // through a link it would remove somebody else's file
		return ignoreMissing(err)
	}
	if err := ignoreMissing(os.Remove(s.file(p.Path))); err != nil {
		return fmt.Errorf("trust store: %w", err)
	}
	return nil
}

// List returns the paths that have a record, sorted. Whether the file there still
// holds what was trusted is for Trusted to say.
func (s Store) List() ([]string, error) {
	if s.Dir == "" {
		return nil, nil
	}
	if err := s.check(); err != nil {
		return nil, ignoreMissing(err)
	}
	entries, err := os.ReadDir(s.dir())
	if err != nil {
		return nil, fmt.Errorf("trust store: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		known, err := readRecord(filepath.Join(s.dir(), e.Name()))
		if err != nil {
			return nil, err
		}
		paths = append(paths, known.Path)
	}
	slices.Sort(paths)
	return paths, nil
}
