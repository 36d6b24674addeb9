package learn

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gosrt/gosrt/policy"
)

// facts of a host with a home, some directories, a hidden and a protected place.
func facts(t interface{ Fatal(...any) }) Facts {
	dirs := []string{"/home/u", "/home/u/.cache", "/home/u/.cache/tool", "/home/u/.tool", "/home/u/src", "/home/u/src/lib", "/srv/data", "/var/tmp"}
	files := []string{"/home/u/notes", "/run/app.sock"}
	allowed, err := policy.ParseHostPattern("*.npmjs.org")
	if err != nil {
		t.Fatal(err)
	}
	return Facts{
		Home: "/home/u",
		Exists: func(p string) (bool, bool) {
			dir := p == "/" || slices.Contains(dirs, p)
			return dir || slices.Contains(files, p), dir
		},
		Closed: func(p string) string {
			for dir, why := range map[string]string{"/home/u/.ssh": "hidden", "/home/u/.zshrc": "protected"} {
				if within(dir, p) {
					return why
				}
			}
			return ""
		},
		Presets: []Preset{{"node", policy.Network{Allowed: []policy.HostRule{{Text: "*.npmjs.org", Pattern: allowed}}}}},
	}
}

func write(path string) policy.Violation {
	return policy.Violation{Kind: "write", Operation: "openat", Target: path, Hint: "--allow-write " + path, Count: 1}
}

func connect(dest string) policy.Violation {
	return policy.Violation{Kind: "connect", Operation: "CONNECT", Target: dest, Hint: "--allow-domain " + dest, Count: 1}
}

func values(entries []Entry) []string {
	var list []string
	for _, e := range entries {
		list = append(list, e.List+" "+e.Value)
	}
	return list
}

func TestPropose(t *testing.T) {
	rule := connect("evil.test:443")
	rule.Rule = "deniedDomains evil.test"
	metadata := policy.Violation{Kind: "connect", Target: "169.254.169.254:80", Rule: "address class", Hint: "--allow-domain 169.254.169.254"}
	for _, row := range []struct {
		name    string
		denials []policy.Violation
		want    []string
		left    int
	}{
		{"a program's own directory", []policy.Violation{write("/home/u/.cache/tool/a/b"), write("/home/u/.cache/tool/c")}, []string{"filesystem.allowWrite ~/.cache/tool"}, 0},
		{"a dot directory", []policy.Violation{write("/home/u/.tool/x")}, []string{"filesystem.allowWrite ~/.tool"}, 0},
		{"a program's directory that is not there", []policy.Violation{write("/home/u/.cache/new/x")}, nil, 1},
		{"a file that is there", []policy.Violation{write("/home/u/notes")}, []string{"filesystem.allowWrite ~/notes"}, 0},
		{"a new file in a project", []policy.Violation{write("/home/u/src/lib/x")}, []string{"filesystem.allowWrite ~/src/lib"}, 0},
		{"a new directory in a project", []policy.Violation{write("/home/u/src/out/deep/x")}, []string{"filesystem.allowWrite ~/src"}, 0},
		{"a new file at home", []policy.Violation{write("/home/u/new")}, nil, 1},
		{"a new file where all share", []policy.Violation{write("/var/tmp/new")}, nil, 1},
		{"outside home", []policy.Violation{write("/srv/data/x")}, []string{"filesystem.allowWrite /srv/data"}, 0},
		{"hidden, protected, system", []policy.Violation{write("/home/u/.ssh/config"), write("/home/u/.zshrc"), write("/etc/passwd"), write("/usr/bin/x")}, nil, 4},
		{"a host", []policy.Violation{connect("a.example.org:443"), connect("a.example.org:80")}, []string{"network.allowedDomains a.example.org"}, 0},
		{"another port", []policy.Violation{connect("db.example.org:5432")}, []string{"network.allowedDomains db.example.org:5432"}, 0},
		{"a preset", []policy.Violation{connect("www.npmjs.org:443")}, []string{"extends node"}, 0},
		{"many names", []policy.Violation{connect("a.x.org:443"), connect("b.x.org:443"), connect("c.x.org:443"), connect("d.x.org:443")}, []string{"network.allowedDomains *.x.org"}, 0},
		{"many names of a public suffix", []policy.Violation{connect("a.co.uk:443"), connect("b.co.uk:443"), connect("c.co.uk:443"), connect("d.co.uk:443")},
			[]string{"network.allowedDomains a.co.uk", "network.allowedDomains b.co.uk", "network.allowedDomains c.co.uk", "network.allowedDomains d.co.uk"}, 0},
		{"a rule's and a metadata address", []policy.Violation{rule, metadata}, nil, 2},
		{"a socket", []policy.Violation{{Kind: "socket", Target: "/run/app.sock", Hint: "--allow-unix-socket /run/app.sock"}}, []string{"network.allowUnixSockets /run/app.sock"}, 0},
		{"a read", []policy.Violation{{Kind: "read", Target: "/home/u/.ssh/id", Hint: "--allow-read x"}}, nil, 1},
	} {
		entries, left := Propose(row.denials, facts(t))
		if diff := cmp.Diff(row.want, values(entries)); diff != "" || len(left) != row.left {
			t.Errorf("%s: %d left; -want +got\n%s", row.name, len(left), diff)
		}
	}
}

func TestManyFilesBecomeTheirDirectory(t *testing.T) {
	f := facts(t)
	there := f.Exists
	f.Exists = func(p string) (bool, bool) {
		if strings.HasPrefix(p, "/srv/data/f") {
			return true, false
		}
		return there(p)
	}
	entries, _ := Propose([]policy.Violation{write("/srv/data/f1"), write("/srv/data/f2")}, f)
	if len(entries) != 2 {
		t.Errorf("two files: %v", values(entries))
	}
	entries, _ = Propose([]policy.Violation{write("/srv/data/f1"), write("/srv/data/f2"), write("/srv/data/f3")}, f)
	// /srv/data is as shallow as a home: it stays with its files' directory.
	if diff := cmp.Diff([]string{"filesystem.allowWrite /srv/data"}, values(entries)); diff != "" {
		t.Error(diff)
	}
}

func TestMinimal(t *testing.T) {
	got := values(Minimal([]Entry{{Writes, "~/a/b", ""}, {Writes, "~/a", ""}, {Writes, "~/ab", ""}, {Writes, "~/a", "again"}}))
	if diff := cmp.Diff([]string{"filesystem.allowWrite ~/a", "filesystem.allowWrite ~/ab"}, got); diff != "" {
		t.Error(diff)
	}
}

// Whatever was denied: what is hidden or protected is not proposed, nor anything
// above it that many share, and what is rendered loads.
func TestProposalProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := facts(t)
		paths := rapid.SliceOf(rapid.OneOf(
			rapid.SampledFrom([]string{"/home/u/.ssh/id", "/home/u/.zshrc", "/etc/x", "/home/u/.cache/tool/x", "/srv/data/y", "/home/u/a\nb", "/home/u/src/\"q\\"}),
			rapid.StringMatching(`/home/u/src/[a-z"'\\ ]{1,8}`),
		)).Draw(t, "paths")
		var denials []policy.Violation
		for _, p := range paths {
			denials = append(denials, write(p))
		}
		entries, _ := Propose(denials, f)
		for _, e := range entries {
			at := strings.Replace(e.Value, "~", f.Home, 1)
			if f.Closed(at) != "" || within("/etc", at) || slices.Contains(shared, at) || at == f.Home {
				t.Fatalf("proposes %q", e.Value)
			}
		}
		for i := range entries {
			entries[i].Reason = "r" // the caller makes it printable
		}
		text := Render("head", entries, nil)
		if _, err := policy.ParseTOML(policy.Source{Name: "x", Data: []byte(text), Base: "/"}, policy.Vars{Home: f.Home}); err != nil && len(entries) > 0 {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}
