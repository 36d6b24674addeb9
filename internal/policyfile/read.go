package policyfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gosrt/gosrt/policy"
)

const (
	// ManagedFile is the administrator's policy, which only tightens.
	ManagedFile = "/etc/gosrt/policy.toml"
	// UserFile is the user's policy, in gosrt's configuration directory.
	UserFile = "policy.toml"
	// ProjectFile is a project's policy, in the current directory or at the root
	// of its checkout.
	ProjectFile = ".gosrt.toml"

	// maxBytes is what policy parses at most, and one more to notice that.
	maxBytes = 1<<20 + 1
)

// ReadNamed reads a file that the user named, which may be a pipe. A missing or
// empty one is an error: the user counts on what it says. Relative entries in
// it join base.
func ReadNamed(layer policy.Layer, name, base string) (*policy.Source, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, readError(name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes))
	if err != nil {
		return nil, readError(name, err)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fmt.Errorf("policy file %q: empty", name)
	}
	return &policy.Source{Layer: layer, Name: name, Data: data, Base: base}, nil
}

// readOwn reads the user's or the administrator's file, which need not be there.
// One that everybody can write is refused: it would be anybody's policy.
func readOwn(layer policy.Layer, name, base string) (*policy.Source, error) {
	f, err := openPlain(name, true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, readError(name, err)
	}
	if info.Mode().Perm()&0o002 != 0 {
		return nil, fmt.Errorf("policy file %q: everybody can write it; run chmod o-w on it", name)
	}
	return readPlain(f, layer, name, base)
}

// readProject reads a project file; nil when there is none.
func readProject(dir, spelled string) (*policy.Source, error) {
	f, err := openPlain(filepath.Join(dir, ProjectFile), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readPlain(f, policy.LayerProject, spelled, dir)
}

func readPlain(f *os.File, layer policy.Layer, name, base string) (*policy.Source, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxBytes))
	if err != nil {
		return nil, readError(name, err)
	}
	return &policy.Source{Layer: layer, Name: name, Data: data, Base: base}, nil
}

// openPlain opens a plain file for reading, and nothing else: neither a device
// nor a FIFO, on which opening could wait for ever. followLink says whether the
// last name may be a symbolic link.
func openPlain(name string, followLink bool) (*os.File, error) {
	flags := os.O_RDONLY | noBlock
	if !followLink {
		flags |= noFollow
	}
	f, err := os.OpenFile(name, flags, 0)
	if err != nil {
		if isLinkError(err) {
			return nil, fmt.Errorf("policy file %q: a symbolic link; a project's policy is a plain file of the project", name)
		}
		return nil, readError(name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a plain file")
	}
	if err != nil {
		f.Close()
		return nil, readError(name, err)
	}
	return f, nil
}

// readError names the file once: os's errors repeat it.
func readError(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("policy file %q: %w", name, err)
}
