package linux

import (
	"os"
	"path/filepath"
	"testing"
)

// A setuid bwrap does without user namespaces, and refuses to disable them.
func TestFeaturesOfSetuid(t *testing.T) {
	for mode, want := range map[os.FileMode]bool{0o755: true, 0o755 | os.ModeSetuid: false} {
		path := filepath.Join(t.TempDir(), "bwrap")
		if err := os.WriteFile(path, []byte("usage: --disable-userns"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if got := FeaturesOf(path).DisableUserns; got != want {
			t.Errorf("mode %v: %v, want %v", mode, got, want)
		}
	}
}
