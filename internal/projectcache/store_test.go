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

// A command that could once write the root, because it ran in the home directory,
// may have left links there: the data directory becomes a write root, and the
// project's name is written.
func TestPlantedLinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	plant := func(link func(Entry) (name, target string)) Store {
		s := Store{Root: filepath.Join(t.TempDir(), "root")}
		e, release, err := s.Open("/src/app")
		if err != nil {
			t.Fatal("control:", err)
		}
		release()
		name, target := link(e)
		if err := errors.Join(os.RemoveAll(name), os.Symlink(target, name)); err != nil {
			t.Fatal(err)
		}
		return s
	}
	for what, link := range map[string]func(Entry) (string, string){
		"the entry":   func(e Entry) (string, string) { return e.Path, outside },
		"the data":    func(e Entry) (string, string) { return e.Data(), outside },
		"the project": func(e Entry) (string, string) { return e.file("project"), victim },
		"the lock":    func(e Entry) (string, string) { return e.file("lock"), filepath.Join(outside, "new") },
	} {
		if _, _, err := plant(link).Open("/src/app"); err == nil {
			t.Errorf("%s: a link was followed", what)
		}
	}
	before, err := os.Stat(outside)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(outside, 0o500), plant(func(e Entry) (string, string) { return e.Data(), outside }).For("/src/app").Remove()); err == nil {
		t.Error("a link in place of the data was opened for removal")
	}
	if after, _ := os.Stat(outside); after.Mode().Perm() != 0o500 {
		t.Errorf("the mode of what the link leads to went from %v to %v", before.Mode(), after.Mode())
	}
	os.Chmod(outside, 0o700)
	if data, _ := os.ReadFile(victim); string(data) != "mine" {
		t.Errorf("the file that a link led to holds %q", data)
	}
	if left, _ := os.ReadDir(outside); len(left) != 1 {
		t.Errorf("something was made where the links lead: %v", left)
	}
}
