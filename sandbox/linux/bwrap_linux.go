package linux

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// bwrapDirs are searched in order. PATH is not: a directory in it may be
// writable by what ran inside earlier.
var bwrapDirs = []string{"/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"}

// ErrNoBwrap is returned by FindBwrap when bubblewrap is not installed.
var ErrNoBwrap = errors.New("bubblewrap is not installed")

// FindBwrap returns the bubblewrap to run: the one the policy names, or the
// first in the fixed directories. writable tells whether the policy lets the
// command write a path; such a binary is refused.
func FindBwrap(named string, writable func(string) bool) (string, error) {
	candidates := []string{named}
	if named == "" {
		candidates = nil
		for _, dir := range bwrapDirs {
			candidates = append(candidates, dir+"/bwrap")
		}
	}
	for _, path := range candidates {
		if unix.Access(path, unix.X_OK) != nil {
			continue
		}
		if writable(path) {
			return "", fmt.Errorf("%s: the policy lets the command write it: add --deny-write %s", path, filepath.Dir(path))
		}
		return path, nil
	}
	if named != "" {
		return "", fmt.Errorf("%s: not an executable file", named)
	}
	return "", ErrNoBwrap
}

// FeaturesOf looks for option names in the binary itself: running bwrap --help
// would cost a tenth of a start, and version numbers say nothing of a
// distribution's backports.
func FeaturesOf(bwrap string) Features {
	data, err := os.ReadFile(bwrap)
	if err != nil {
		return Features{}
	}
	return Features{DisableUserns: bytes.Contains(data, []byte("--disable-userns")) && !installedSetuid(bwrap)}
}

// installedSetuid tells an installation that does without user namespaces for its
// users: bwrap(1) refuses --disable-userns there.
func installedSetuid(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeSetuid != 0
}
