package darwin

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/policy/policytest"
)

func TestLaunchArgs(t *testing.T) {
	want := []string{"/usr/bin/sandbox-exec", "-f", "/p", "--", "-p", "a b", ""}
	if diff := cmp.Diff(want, launchArgs("/p", []string{"-p", "a b", ""})); diff != "" {
		t.Error(diff)
	}
}

// TestPreflight: sandbox-exec's own failures are told from the trial program's.
func TestPreflight(t *testing.T) {
	for _, tt := range []struct {
		name   string
		code   int
		stderr string
		want   string // in the error; empty: the limits are up
	}{
		{"fine", 0, "", ""},
		{"does not compile", 65, "sandbox-exec: unbound variable: file-graft on line 3\n", "unbound variable: file-graft"},
		{"nested", 71, "sandbox-exec: sandbox_apply: Operation not permitted\n", "inside another sandbox"},
		{"other failure", 71, "sandbox-exec: out of memory\n", "out of memory"},
		{"true is hidden", 71, "sandbox-exec: execvp() of '/usr/bin/true' failed: Operation not permitted\n", ""},
		{"the loader is hidden", -1, "", ""},
	} {
		err := preflightFault(tt.code, tt.stderr)
		var setup *SetupError
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (!errors.As(err, &setup) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want a *SetupError with %q", tt.name, err, tt.want)
		}
	}
}

// TestExecutable: a command that is missing, no program or hidden is known before
// sandbox-exec could answer for it.
func TestExecutable(t *testing.T) {
	disk := map[string]bool{"/bin/sh": true, "/opt/bin/tool": true, "/opt/bin/data": false, proj + "/run": true, home + "/.ssh/run": true}
	resolve := func(p string) (string, bool, error) {
		runnable, there := disk[p]
		if !there {
			return "", false, errNotThere
		}
		return p, runnable, nil
	}
	plan := project()
	plan.Dir, plan.Env = proj, []string{"PATH=/bin:/opt/bin:."}
	for _, tt := range []struct{ name, file, fault string }{
		{"sh", "/bin/sh", ""},
		{"tool", "/opt/bin/tool", ""},
		{"run", proj + "/run", ""},
		{"./run", proj + "/run", ""},
		{"/bin/sh", "/bin/sh", ""},
		{"nope", "", "missing"},
		{"./nope", "", "missing"},
		{"data", "", "not executable"},
		{home + "/.ssh/run", "", "not executable"},
	} {
		plan.Argv = []string{tt.name}
		file, s := executable(plan, resolve)
		fault := ""
		switch {
		case s.Missing:
			fault = "missing"
		case s.NotExecutable:
			fault = "not executable"
		}
		if file != tt.file || fault != tt.fault || (fault != "") != (s.Detail != "") || s.Ran {
			t.Errorf("%s: %q %+v", tt.name, file, s)
		}
	}
}

func TestPrepare(t *testing.T) {
	plan := project()
	plan.Env = []string{"TMPDIR=/host", "PATH=/bin", "JAVA_TOOL_OPTIONS=-Xmx1g"}
	before := len(plan.Files)
	got := Prepare(plan, Run{TmpDir: "/private/tmp/t", Hidden: "/private/tmp/p"})
	for _, want := range []string{"TMPDIR=/private/tmp/t", "TMP=/private/tmp/t", "TMPPREFIX=/private/tmp/t/zsh",
		"JAVA_TOOL_OPTIONS=-Xmx1g -Djava.net.preferIPv4Stack=true", "PATH=/bin"} {
		if !slices.Contains(got.Env, want) {
			t.Errorf("%s is missing in %q", want, got.Env)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(got.Env), func(e string) bool { return !strings.HasPrefix(e, "TMPDIR=") })); n != 1 {
		t.Errorf("TMPDIR stands %d times", n)
	}
	if len(plan.Files) != before || plan.Env[0] != "TMPDIR=/host" || plan.TmpDir != "" {
		t.Error("the given plan changed")
	}
	p, err := compileSBPL(render(t, got).Text, 15)
	if err != nil {
		t.Fatal(err)
	}
	for q, want := range map[request]bool{
		{op: "file-write-create", path: "/private/tmp/t/x"}:                   true,
		{op: "file-write-create", path: "/private/tmp/other"}:                 false,
		{op: "file-read-data", path: "/private/tmp/p/profile.sb"}:             false,
		{op: "file-write-unlink", path: "/private/tmp/p/profile.sb"}:          false,
		{op: "file-write-unlink", path: "/private/tmp/t"}:                     false,
		{op: "network-bind", path: "/private/tmp/t/s"}:                        true,
		{op: "network-outbound", path: "/private/tmp/t/s"}:                    true,
		{op: "network-outbound", path: proj + "/s"}:                           false,
		{op: "file-read-data", path: "/private/tmp/t/sub/.env"}:               false, // moved there from the project
		{op: "file-write-create", path: "/private/tmp/t/sub/x.git/hooks/a"}:   false,
		{op: "file-write-unlink", path: proj + "/host.sock", vnode: "SOCKET"}: false,
	} {
		if got := p.decide(q).allow; got != want {
			t.Errorf("%+v: allowed %v", q, got)
		}
	}
}

// TestMovesIntoTemp: what a pattern holds in the project, it holds in the run's
// own directory, because a directory moves from one to the other.
func TestMovesIntoTemp(t *testing.T) {
	plan := Prepare(project(), Run{TmpDir: "/private/tmp/t"})
	plan.Found = []policy.Found{{Path: proj + "/sub/.env", Rule: 3}}
	m, err := machineFor(t, render(t, plan).Text, 15)
	if err != nil {
		t.Fatal(err)
	}
	m.mkdirAll("/private/tmp/t")
	m.put(proj+"/sub/.env", "secret")
	m.put(proj+"/lib/x.git/hooks/a", "hook")
	if e := m.run("rename " + proj + "/sub /private/tmp/t/sub"); e != eperm {
		t.Errorf("a directory over a hidden file was moved: %q", e)
	}
	if e := m.run("rename " + proj + "/lib /private/tmp/t/lib"); e != ok {
		t.Errorf("control: a directory moves: %q", e)
	}
	if e := m.run("write /private/tmp/t/lib/x.git/hooks/a"); e != eperm {
		t.Errorf("a hook was changed in the temporary directory: %q", e)
	}
}

// TestOnDisk: a rule is spelled as the disk has the name, where the volume finds
// it by the rule's spelling.
func TestOnDisk(t *testing.T) {
	tree := foldTree{policytest.MustNew("/Users/Ann/Documents/x\n/Users/Ann/.SSH/id\n/Users/Ann/K\u00e4se/y\n/both/a\n/both/A\n")}
	plan := planOf("denyRead /users/ann/documents", "denyRead /Users/Ann/.ssh", "denyRead /Users/Ann/Ka\u0308se",
		"?protect /users/ann/.zshrc", "denyRead /both/a", "denyRead /users/ann/documents/**/*.pem")
	var got []string
	for _, r := range OnDisk(plan, tree).Files {
		got = append(got, r.Path)
	}
	want := []string{"/Users/Ann/Documents", "/Users/Ann/.SSH", "/Users/Ann/K\u00e4se", "/Users/Ann/.zshrc", "/both/a", "/Users/Ann/Documents/**/*.pem"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	sensitive := OnDisk(planOf("denyRead /users/ann/documents"), policytest.MustNew("/Users/Ann/Documents/x\n"))
	if p := sensitive.Files[0].Path; p != "/users/ann/documents" {
		t.Errorf("on a volume that tells case apart: %s", p)
	}
}

// foldTree finds names in any case and normal form, as APFS does.
type foldTree struct{ *policytest.Tree }

func (f foldTree) Lstat(p string) (policy.FileInfo, error) {
	at := ""
	for _, name := range relative(p, "/") {
		entries, err := f.Tree.ReadDir(at + "/")
		if at != "" {
			entries, err = f.Tree.ReadDir(at)
		}
		if err != nil {
			return policy.FileInfo{}, err
		}
		for _, e := range entries {
			if foldKey(e.Name) == foldKey(name) {
				name = e.Name
			}
		}
		at += "/" + name
	}
	return f.Tree.Lstat(at)
}

// TestWayThroughALink: a place that is opened under a link in a hidden directory
// is reached under that name too.
func TestWayThroughALink(t *testing.T) {
	plan := planOf("denyRead "+home, "allowRead /opt/sdk")
	plan.Files[1].Spelled = home + "/tools/sdk"
	m, err := machineFor(t, render(t, plan).Text, 15)
	if err != nil {
		t.Fatal(err)
	}
	m.put("/opt/sdk/bin", "program")
	m.add(home+"/tools/sdk", &vnode{kind: "SYMLINK", target: "/opt/sdk"})
	for call, want := range map[string]string{
		"read /opt/sdk/bin":               ok,
		"read " + home + "/tools/sdk/bin": ok,
		"read " + home + "/tools":         eperm,
		"lstat " + home + "/tools/sdk":    ok,
	} {
		if got := m.run(call); got != want {
			t.Errorf("%s: %q, want %q", call, got, want)
		}
	}
}
