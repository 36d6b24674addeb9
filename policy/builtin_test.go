package policy

import (
	"path"
	"slices"
	"strings"
	"testing"
)

func TestBuiltinRows(t *testing.T) {
	p := Builtin(Vars{Home: "/home/u"}, "/work")
	seen := map[string]bool{}
	for _, rule := range p.Filesystem.DenyRead {
		if rule.Group == "" || rule.Reason == "" || rule.Pattern || !path.IsAbs(rule.Path) || rule.Origin != (Origin{}) {
			t.Errorf("row %+v", rule)
		}
		if seen[rule.Path] {
			t.Errorf("%s has two rows", rule.Path)
		}
		seen[rule.Path] = true
		if within(rule.Path, "/home/u") || within(rule.Path, "/work") {
			t.Errorf("%s hides the home or the project", rule.Path)
		}
	}
	for _, want := range []string{
		"/home/u/.ssh", "/home/u/.aws", "/home/u/.config/gcloud", "/home/u/.kube", "/home/u/.config/gh", "/home/u/.gnupg",
		"/home/u/.git-credentials", "/home/u/.netrc", "/home/u/.npmrc", "/home/u/.pypirc", "/home/u/.cargo/credentials.toml",
		"/home/u/.docker/config.json", "/home/u/.azure", "/home/u/.password-store", "/home/u/.vault-token", "/home/u/.bash_history",
		"/home/u/.mozilla", "/etc/shadow",
	} {
		if !seen[want] {
			t.Errorf("%s is not hidden", want)
		}
	}
}

// What a toolchain reads to work at all must not be hidden.
func TestBuiltinHidesNoToolchain(t *testing.T) {
	p := Builtin(Vars{Home: "/home/u"}, "/work")
	for _, place := range []string{
		"/home/u/go/pkg/mod", "/home/u/.cargo/registry", "/home/u/.cargo/bin", "/home/u/.rustup", "/home/u/.nvm", "/home/u/.pyenv",
		"/home/u/.local/lib", "/home/u/.gitconfig", "/home/u/.config/git/config", "/home/u/.cache", "/home/u/.m2/repository",
		"/home/u/.gradle/wrapper", "/etc/ssl/certs", "/etc/passwd", "/etc/resolv.conf", "/usr",
	} {
		for _, rule := range p.Filesystem.DenyRead {
			if within(rule.Path, place) {
				t.Errorf("%s is hidden by %s", place, rule.Text)
			}
		}
	}
}

func TestBuiltinCwd(t *testing.T) {
	for _, tt := range []struct {
		cwd, home, granted string
		notes              int
	}{
		{"/work/p", "/home/u", "/work/p", 0},
		{"/home/u/p", "/home/u", "/home/u/p", 0},
		{"/work/p/", "/home/u", "/work/p", 0},
		{"/etc", "/root", "", 1}, // a root caller could change the system from there
		{"/etc/cron.d", "/root", "", 1},
		{"/usr//local/bin/.", "/root", "", 1},
		{"/usr", "/root", "", 1},
		{"/var/lib", "/root", "", 1},
		{"/usr/src/app", "/root", "/usr/src/app", 0},
		{"/opt/app", "/root", "/opt/app", 0},
		{"/var/www", "/root", "/var/www", 0},
		{"/etcetera", "/root", "/etcetera", 0},
		{"/home/u", "/home/u", "/home/u", 1},
		{"/home", "/home/u", "", 1},
		{"/", "/home/u", "", 1},
		{"/", "", "", 1},
		{"/", "/", "", 1},
		{"//", "/home/u", "", 1},
		{"/work", "", "/work", 0},
		{"", "/home/u", "", 0},
		{"relative", "/home/u", "", 0},
	} {
		p := mustLoad(t, Input{Vars: Vars{Home: tt.home}, Cwd: tt.cwd})
		granted := strings.Join(pathsOf(p.Filesystem.AllowWrite), " ")
		if granted != tt.granted || len(p.Notes) != tt.notes {
			t.Errorf("cwd %q, home %q: granted %q, notes %q", tt.cwd, tt.home, granted, p.Notes)
		}
	}
}

// No note for what the user has decided.
func TestCwdNoteIsForTheDefault(t *testing.T) {
	for name, in := range map[string]Input{
		"named":   {Flags: Flags{AllowWrite: []string{"."}}},
		"dropped": {User: source("user", "extends = []")},
	} {
		in.Vars, in.Cwd = testVars, "/"
		if p := mustLoad(t, in); len(p.Notes) > 0 {
			t.Errorf("%s: %v", name, p.Notes)
		}
	}
}

func TestBuiltinWithoutHome(t *testing.T) {
	for _, rule := range Builtin(Vars{}, "/work").Filesystem.DenyRead {
		if strings.Contains(rule.Text, "~") {
			t.Errorf("%s became %s", rule.Text, rule.Path)
		}
	}
}

func TestPresets(t *testing.T) {
	names := PresetNames()
	if !slices.IsSorted(names) || len(names) < 10 || slices.Contains(names, BuiltinName) {
		t.Errorf("names: %v", names)
	}
	for _, name := range names {
		text, ok := PresetText(name)
		if !ok || !strings.HasPrefix(string(text), "# ") {
			t.Errorf("%s: no first line that says what it is for", name)
		}
		doc, err := parsePreset(name, Vars{Home: "/home/u"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if doc.extends != nil || len(doc.settings) > 0 || len(doc.policy.Network.Allowed)+len(doc.policy.Filesystem.AllowWrite) == 0 {
			t.Errorf("%s: a preset lists hosts and caches, nothing else", name)
		}
	}
	for _, name := range []string{"", "builtin", "../presets/node", "node.toml", "Node"} {
		if _, ok := PresetText(name); ok {
			t.Errorf("%q is a preset", name)
		}
	}
}

func TestPresetHosts(t *testing.T) {
	for _, tt := range []struct {
		preset          string
		allowed, denied []string
	}{
		{"model-apis", []string{"api.openai.com:443", "api.anthropic.com:443", "bedrock.eu-west-1.amazonaws.com:443"},
			[]string{"anthropic.com:443", "statsig.anthropic.com:443", "api.openai.com:80", "bedrock.a.b.amazonaws.com:443"}},
		{"node", []string{"a.npmjs.org:443", "npmjs.org:443"}, []string{"npmjs.org.evil.test:443", "evilnpmjs.org:443"}},
		{"git-hosting", []string{"github.com:22", "codeload.github.com:443"}, []string{"github.io:443", "github.com:80"}},
	} {
		in := testInput()
		in.Flags.Preset = []string{tt.preset}
		p := mustLoad(t, in)
		for want, hosts := range map[Verdict][]string{Allow: tt.allowed, Deny: tt.denied} {
			for _, host := range hosts {
				h, err := ParseHostPort(host)
				if err != nil {
					t.Fatal(err)
				}
				if d := p.Network.Decide(h); d.Verdict != want {
					t.Errorf("%s: %s: %v, %s", tt.preset, host, d.Verdict, d.Reason)
				}
			}
		}
	}
}
