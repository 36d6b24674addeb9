package policyfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gosrt/gosrt/policy"
)

// world is a home, a checkout and gosrt's directories in a temp directory.
type world struct {
	t             *testing.T
	home, project string
	Request
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: filepath.Join(root, "home"), project: filepath.Join(root, "project")}
	for _, dir := range []string{w.home, filepath.Join(w.project, ".git"), filepath.Join(w.project, "sub")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config, state := Dirs(w.home, func(string) string { return "" })
	w.Request = Request{
		Cwd: w.project, ConfigDir: config, StateDir: state, Managed: filepath.Join(root, "managed.toml"),
		Vars: policy.Vars{Home: w.home},
	}
	return w
}

func (w *world) write(path, text string) string {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) load() policy.Policy {
	w.t.Helper()
	p, err := Load(w.Request)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) refused(want string) {
	w.t.Helper()
	p, err := Load(w.Request)
	if err == nil || !strings.Contains(err.Error(), want) {
		w.t.Errorf("got %v (%d layers), want an error with %q", err, len(p.Layers), want)
	}
}

// trust records every project file of the current directory.
func (w *world) trust() {
	w.t.Helper()
	found, err := FindProjects(w.Cwd)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range found {
		if err := (Store{Dir: w.StateDir}).Trust(p); err != nil {
			w.t.Fatal(err)
		}
	}
}

func writes(p policy.Policy, path string) bool {
	return slices.ContainsFunc(p.Filesystem.AllowWrite, func(r policy.PathRule) bool { return r.Path == path })
}

func hides(p policy.Policy, path string) bool {
	return slices.ContainsFunc(p.Filesystem.DenyRead, func(r policy.PathRule) bool { return r.Path == path })
}

func TestLoadWithoutFiles(t *testing.T) {
	w := newWorld(t)
	p := w.load()
	if len(p.Layers) != 1 || !writes(p, w.project) {
		t.Errorf("layers %v", p.Layers)
	}
}

func TestLoadEveryFile(t *testing.T) {
	w := newWorld(t)
	w.write(w.Managed, "[filesystem]\ndenyRead = ['managed']")
	w.write(filepath.Join(w.ConfigDir, UserFile), "[filesystem]\nallowWrite = ['user']")
	w.write(filepath.Join(w.project, ProjectFile), "[filesystem]\ndenyRead = ['project']")
	named := w.write(filepath.Join(w.home, "a", "named.toml"), "[filesystem]\nallowWrite = ['named']")
	settings := w.write(filepath.Join(w.home, "a", "s.json"),
		`{"network":{"allowedDomains":[],"deniedDomains":[]},"filesystem":{"denyRead":[],"allowWrite":["settings"],"denyWrite":[]}}`)
	w.Policies, w.Settings = []string{named, named}, []string{settings}
	p := w.load()
	// The administrator's and a project's entries join the file's directory, all
	// others the current one.
	if !hides(p, filepath.Join(filepath.Dir(w.Managed), "managed")) || !hides(p, filepath.Join(w.project, "project")) {
		t.Errorf("denyRead %v", p.Filesystem.DenyRead[len(p.Filesystem.DenyRead)-3:])
	}
	for _, name := range []string{"user", "named", "settings"} {
		if !writes(p, filepath.Join(w.project, name)) {
			t.Errorf("allowWrite %s is lost: %v", name, p.Filesystem.AllowWrite)
		}
	}
	var names []string
	for _, layer := range p.Layers {
		names = append(names, layer.Name)
	}
	want := []string{"", "~/.config/gosrt/policy.toml", ProjectFile, settings, named, named, w.Managed}
	if !slices.Equal(names, want) {
		t.Errorf("layers %q, want %q", names, want)
	}
}

func TestNamedFilesMustSaySomething(t *testing.T) {
	w := newWorld(t)
	empty := w.write(filepath.Join(w.home, "empty"), " \n")
	for _, name := range []string{filepath.Join(w.home, "missing"), empty, w.home} {
		w.Policies, w.Settings = []string{name}, nil
		w.refused(name)
		w.Policies, w.Settings = nil, []string{name}
		w.refused(name)
	}
	w.Settings = []string{w.write(filepath.Join(w.home, "s.json"), `{"network":{}}`)}
	w.refused("required")
}

func TestTooLarge(t *testing.T) {
	w := newWorld(t)
	big := strings.Repeat("#\n", 1<<19)
	w.Policies = []string{w.write(filepath.Join(w.home, "p.toml"), big)} // exactly 1 MiB
	w.load()
	w.write(w.Policies[0], big+"#")
	w.refused("1 MiB")
	w.Policies = nil
	w.write(filepath.Join(w.project, ProjectFile), big+"#")
	w.refused("1 MiB")
}

// The administrator's file, the user's and the project's need not be there, but
// one that is there and cannot be read must not be taken for one that is not.
func TestBrokenFilesRefuse(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		make       func(w *world, path string) error
	}{
		{"directory", "not a plain file", func(_ *world, path string) error { return os.MkdirAll(path, 0o755) }},
		{"bad text", "unknown key", func(w *world, path string) error { w.write(path, "x = 1"); return nil }},
		{"loop", "policy file", func(_ *world, path string) error { return os.Symlink(path, path) }},
	} {
		for _, place := range []func(w *world) string{
			func(w *world) string { return w.Managed },
			func(w *world) string { return filepath.Join(w.ConfigDir, UserFile) },
			func(w *world) string { return filepath.Join(w.project, ProjectFile) },
		} {
			w := newWorld(t)
			path := place(w)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := tt.make(w, path); err != nil {
				t.Fatal(err)
			}
			t.Run(tt.name+" "+filepath.Base(path), func(t *testing.T) { w.t = t; w.refused(tt.want) })
		}
	}
}

func TestWorldWritableFilesRefuse(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{w.Managed, filepath.Join(w.ConfigDir, UserFile)} {
		w.write(path, "[filesystem]\n")
		w.load() // the control
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
		w.refused("everybody can write it")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// A project's policy is a file of the project: a link could make gosrt read, and
// quote in an error, whatever its user may read.
func TestProjectFileIsNoLink(t *testing.T) {
	w := newWorld(t)
	secret := w.write(filepath.Join(w.home, "secret"), "hunter2")
	if err := os.Symlink(secret, filepath.Join(w.project, ProjectFile)); err != nil {
		t.Fatal(err)
	}
	w.refused("a symbolic link")
	if _, err := Load(w.Request); strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error quotes the target: %v", err)
	}
}

// The user's own file may be a link, as dotfile managers make them.
func TestUserFileMayBeALink(t *testing.T) {
	w := newWorld(t)
	target := w.write(filepath.Join(w.home, "dotfiles", "gosrt.toml"), "[filesystem]\nallowWrite = ['/linked']")
	if err := os.MkdirAll(w.ConfigDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(w.ConfigDir, UserFile)); err != nil {
		t.Fatal(err)
	}
	if !writes(w.load(), "/linked") {
		t.Error("not read")
	}
}

const grant = "[filesystem]\nallowWrite = ['/granted']\ndenyRead = ['hidden']\n"

func TestTrust(t *testing.T) {
	w := newWorld(t)
	file := w.write(filepath.Join(w.project, ProjectFile), grant)
	check := func(when string, trusted bool) {
		t.Helper()
		p := w.load()
		if writes(p, "/granted") != trusted || (len(p.Untrusted) == 0) != trusted {
			t.Errorf("%s: granted %t, listed %v", when, writes(p, "/granted"), p.Untrusted)
		}
		if !hides(p, filepath.Join(w.project, "hidden")) {
			t.Errorf("%s: the denial is lost", when)
		}
	}
	check("before", false)
	w.trust()
	check("after gosrt trust", true)
	w.write(file, grant+"#")
	check("after one changed byte", false)
	w.write(file, grant)
	check("changed back", true)
	if err := os.Rename(w.project, w.project+"2"); err != nil {
		t.Fatal(err)
	}
	w.project += "2"
	w.Cwd = w.project
	check("the same content elsewhere", false)
	w.trust()
	check("trusted there too", true)
}

// From a subdirectory, through a link to it, and with a file of its own there,
// the checkout's file still counts.
func TestProjectOfACheckout(t *testing.T) {
	w := newWorld(t)
	w.write(filepath.Join(w.project, ProjectFile), grant)
	w.Cwd = filepath.Join(w.project, "sub")
	link := filepath.Join(w.home, "link")
	if err := os.Symlink(w.Cwd, link); err != nil {
		t.Fatal(err)
	}
	hidden := filepath.Join(w.project, "hidden")
	for _, cwd := range []string{w.Cwd, link} {
		w.Cwd = cwd
		if p := w.load(); !hides(p, hidden) || len(p.Untrusted) != 1 || !strings.Contains(p.Untrusted[0], "../.gosrt.toml:2") {
			t.Errorf("from %s: untrusted %v", cwd, p.Untrusted)
		}
	}
	w.write(filepath.Join(w.project, "sub", ProjectFile), "[filesystem]\ndenyRead = ['own']")
	if p := w.load(); !hides(p, hidden) || !hides(p, filepath.Join(w.project, "sub", "own")) {
		t.Error("a file in a subdirectory takes the checkout's denials away")
	}
	if err := os.Remove(filepath.Join(w.project, ".git")); err != nil {
		t.Fatal(err)
	}
	if hides(w.load(), hidden) {
		t.Error("without a checkout, a directory above has a say")
	}
}

// A store that others could have written says nothing, aloud.
func TestStoreRefusesWhatOthersCouldWrite(t *testing.T) {
	entry := func(w *world) string {
		names, err := filepath.Glob(filepath.Join(w.StateDir, "trust", "*.json"))
		if err != nil || len(names) != 1 {
			t.Fatalf("store holds %v, %v", names, err)
		}
		return names[0]
	}
	move := func(t *testing.T, from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	for name, spoil := range map[string]func(t *testing.T, w *world){
		"state directory is a link": func(t *testing.T, w *world) { move(t, w.StateDir, filepath.Join(w.project, "state")) },
		"trust directory is a link": func(t *testing.T, w *world) {
			move(t, filepath.Join(w.StateDir, "trust"), filepath.Join(w.project, "trust"))
		},
		"entry is a link":           func(t *testing.T, w *world) { move(t, entry(w), filepath.Join(w.project, "entry")) },
		"directory writable by all": func(t *testing.T, w *world) { chmod(t, filepath.Join(w.StateDir, "trust"), 0o777) },
		"entry writable by group":   func(t *testing.T, w *world) { chmod(t, entry(w), 0o660) },
		"entry is not JSON":         func(t *testing.T, w *world) { w.write(entry(w), "x") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write(filepath.Join(w.project, ProjectFile), grant)
			w.trust()
			if !writes(w.load(), "/granted") { // the control
				t.Fatal("not trusted to begin with")
			}
			spoil(t, w)
			w.refused("")
		})
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// Recording trust replaces a link at the entry's name and never writes through
// one, and refuses a directory that is a link.
func TestTrustWritesThroughNoLink(t *testing.T) {
	w := newWorld(t)
	w.write(filepath.Join(w.project, ProjectFile), grant)
	found, err := FindProjects(w.project)
	if err != nil {
		t.Fatal(err)
	}
	store := Store{Dir: w.StateDir}
	victim := w.write(filepath.Join(w.home, "victim"), "keep")
	if err := os.MkdirAll(store.dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, store.file(found[0].Path)); err != nil {
		t.Fatal(err)
	}
	w.trust()
	if data, err := os.ReadFile(victim); err != nil || string(data) != "keep" {
		t.Errorf("the link's target now holds %q, %v", data, err)
	}
	info, err := os.Lstat(store.file(found[0].Path))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("entry: %v, %v", info.Mode(), err)
	}
	if leftovers, _ := filepath.Glob(filepath.Join(store.dir(), ".new-*")); len(leftovers) > 0 {
		t.Errorf("left behind: %v", leftovers)
	}
	if err := os.Rename(store.dir(), filepath.Join(w.project, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(w.project, "moved"), store.dir()); err != nil {
		t.Fatal(err)
	}
	if err := store.Trust(found[0]); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("wrote through a link: %v", err)
	}
}

// A relative directory must not become a relative name in the store.
func TestFindProjectsIsAbsolute(t *testing.T) {
	w := newWorld(t)
	file := w.write(filepath.Join(w.project, ProjectFile), grant)
	t.Chdir(w.project)
	found, err := FindProjects(".")
	if err != nil || len(found) != 1 || found[0].Path != file {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestNoStateDirectory(t *testing.T) {
	w := newWorld(t)
	w.write(filepath.Join(w.project, ProjectFile), grant)
	w.StateDir = ""
	if writes(w.load(), "/granted") {
		t.Error("trusted without a store")
	}
	found, _ := FindProjects(w.project)
	if err := (Store{}).Trust(found[0]); err == nil {
		t.Error("trusted into nowhere")
	}
}

func TestDirs(t *testing.T) {
	env := map[string]string{}
	for _, tt := range []struct{ home, configHome, stateHome, config, state string }{
		{"/home/u", "", "", "/home/u/.config/gosrt", "/home/u/.local/state/gosrt"},
		{"/home/u", "/c", "/s", "/c/gosrt", "/s/gosrt"},
		{"/home/u", "c", "../s", "/home/u/.config/gosrt", "/home/u/.local/state/gosrt"},
		{"", "", "", "", ""},
		{"relative", "/c", "", "/c/gosrt", ""},
	} {
		env["XDG_CONFIG_HOME"], env["XDG_STATE_HOME"] = tt.configHome, tt.stateHome
		config, state := Dirs(tt.home, func(name string) string { return env[name] })
		if config != tt.config || state != tt.state {
			t.Errorf("%+v: %q %q", tt, config, state)
		}
	}
}
