package policyfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	if err := os.Remove(s.file(p.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
	entries, err := os.ReadDir(s.dir())
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var paths []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		path, err := s.recordedPath(e.Name())
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths, nil
}

func (s Store) recordedPath(name string) (string, error) {
	file := filepath.Join(s.dir(), name)
	data, err := readPrivate(file)
	if err != nil {
		return "", err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return "", fmt.Errorf("trust store %q: %w; remove it and run gosrt trust again", file, err)
	}
	return r.Path, nil
}
