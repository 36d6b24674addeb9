package runs

import (
	"os"
	"path/filepath"
)

// Dir is where records are. The zero Dir keeps none.
type Dir struct{ path string }

// In is the directory below gosrt's state directory; empty: no records.
func In(stateDir string) Dir {
	if stateDir == "" {
		return Dir{}
	}
	return Dir{filepath.Join(stateDir, "run")}
}

// Prepare makes the directory. It must be there before a command runs: one that
// is made later would not be hidden from it.
func (d Dir) Prepare() error {
	if d.path == "" {
		return nil
	}
	return os.MkdirAll(d.path, 0o700)
}

const ending = ".jsonl"

func (d Dir) file(run string) string { return filepath.Join(d.path, run+ending) }
