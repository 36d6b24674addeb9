package projectcache

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func open(t *testing.T, s Store, project string) Entry {
	t.Helper()
	e, release, err := s.Open(project)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return e
}

func TestOpenKeepsProjectsApart(t *testing.T) {
	s := Store{Root: filepath.Join(t.TempDir(), "root")}
	a, b := open(t, s, "/src/app"), open(t, s, "/other/app")
	if a.Path == b.Path {
		t.Fatalf("two projects share %s", a.Path)
	}
	for _, dir := range []string{s.Root, a.Path, a.Data()} {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %o, want 700", dir, info.Mode().Perm())
		}
	}
	if again := open(t, s, "/src/app"); again != a {
		t.Errorf("second open gave %v, want %v", again, a)
	}
}

func TestListNamesProjectsAndSizes(t *testing.T) {
	s := Store{Root: filepath.Join(t.TempDir(), "root")}
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Fatalf("missing root: %v, %v", list, err)
	}
	b, a := open(t, s, "/src/b"), open(t, s, "/src/a")
	if err := os.WriteFile(filepath.Join(b.Data(), "f"), make([]byte, 1234), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0] != a || list[1] != b {
		t.Fatalf("list = %v", list)
	}
	u, err := list[1].Usage()
	if err != nil || u.Bytes != 1234 || u.Used.IsZero() {
		t.Errorf("usage = %+v, %v", u, err)
	}
}

func TestRemoveRefusesWhileInUse(t *testing.T) {
	s := Store{Root: filepath.Join(t.TempDir(), "root")}
	e, release, err := s.Open("/src/app")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Remove(); !errors.Is(err, ErrInUse) {
		t.Fatalf("remove during a run: %v, want ErrInUse", err)
	}
	if _, err := os.Stat(e.Data()); err != nil {
		t.Fatalf("a refused remove changed something: %v", err)
	}
	release()
	if err := e.Remove(); err != nil {
		t.Fatalf("remove after the run: %v", err)
	}
	if _, err := os.Lstat(e.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("entry is still there: %v", err)
	}
}

// A cache holds what an untrusted command left there.
func TestRemoveLeavesLinkTargetsAlone(t *testing.T) {
	s := Store{Root: filepath.Join(t.TempDir(), "root")}
	e, release, err := s.Open("/src/app")
	if err != nil {
		t.Fatal(err)
	}
	release()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o500); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(outside, "..", "kept")
	if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	readonly := filepath.Join(e.Data(), "mod")
	for _, err := range []error{
		os.Symlink(outside, filepath.Join(e.Data(), "dirlink")),
		os.Symlink(kept, filepath.Join(e.Data(), "filelink")),
		os.Mkdir(readonly, 0o700),
		os.WriteFile(filepath.Join(readonly, "f"), nil, 0o400),
		os.Chmod(readonly, 0o500), // as Go's module cache is
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Remove(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(kept); err != nil || string(got) != "kept" {
		t.Errorf("link target: %q, %v", got, err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("linked directory changed: %v, %v", info.Mode(), err)
	}
}
