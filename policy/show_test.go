package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// samePolicy compares what policies mean: not where a rule was written, nor why.
var samePolicy = cmp.Options{
	ignorePlaces,
	cmpopts.IgnoreFields(Policy{}, "Layers", "Untrusted", "Notes"),
	cmpopts.IgnoreFields(PathRule{}, "Text", "Origin", "Reason", "Group", "Empty"),
	cmpopts.IgnoreFields(HostRule{}, "Text", "Origin", "Reason"),
	cmpopts.IgnoreFields(EnvRule{}, "Origin"),
	cmpopts.IgnoreFields(PortRule{}, "Text", "Origin"),
	cmpopts.IgnoreFields(PublishRule{}, "Text", "Origin"),
}

// reread parses what Show wrote.
func reread(t *testing.T, p Policy) Policy {
	t.Helper()
	text := Show(p)
	again, err := ParseTOML(Source{Name: "shown.toml", Data: []byte(text)}, Vars{})
	if err != nil {
		t.Fatalf("Show wrote what ParseTOML refuses: %v\n%s", err, text)
	}
	return again
}

func TestShowReadsBack(t *testing.T) {
	full := source("file", fullTOML)
	odd := source("file", "[filesystem]\nallowWrite = ['a\\*b', '\\~x', 'c\\$d', 'e\\\\f', \"q\\\"u'o\", \"tab\\tnl\\n\", '*.[ch]', '$STAR/*.x', 'ünï', '\\[x\\]']\n[env.set]\nA = \"a\\\\b\\\"c'd\"\n")
	for name, in := range map[string]Input{
		"default":   testInput(),
		"every key": {Vars: testVars, Cwd: "/work", File: full},
		"odd names": {Vars: testVars, Cwd: "/wo[rk", File: odd},
		"settings":  {Vars: testVars, Cwd: "/work", Settings: source("s.json", withSettings("", `, "allowRead": ["a[b", "$x", "c*"]`, ""))},
		"no home":   {Cwd: "/work"},
	} {
		p := mustLoad(t, in)
		if diff := cmp.Diff(p, reread(t, p), samePolicy); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestShowNamesOrigins(t *testing.T) {
	in := testInput()
	in.User = source("~/.config/gosrt/policy.toml", "[filesystem]\nallowWrite = [\n'~/out']\n[network]\nallowedDomains = ['.x.test']")
	in.Project = source(".gosrt.toml", "[filesystem]\nallowWrite = ['/']")
	in.Flags.DenyRead = []string{"/flag"}
	shown := Show(mustLoad(t, in))
	for _, want := range []string{
		`"/home/u/out", # ~/out, ~/.config/gosrt/policy.toml:3`,
		`"x.test", # .x.test, ~/.config/gosrt/policy.toml:5`,
		`"/home/u/.ssh", # ~/.ssh, built-in, SSH keys`,
		`"/flag", # --deny-read`,
		`# not applied, because the project file is not trusted: allowWrite "/" (.gosrt.toml:2)`,
		`# layer: project file .gosrt.toml`,
		`# always denied: metadata.google.internal`,
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no line with %s", want)
		}
	}
}

// What is shown lands in bug reports and on terminals.
func TestShowKeepsSecretsAndStaysPrintable(t *testing.T) {
	in := testInput()
	in.Flags = Flags{Env: []string{"MY_TOKEN=hunter2", "PLAIN=seen"}, Upstream: "http://u:hunter2@proxy.test:1"}
	in.File = source("file\x1b[2J\nname", "[filesystem]\ndenyRead = [\"a\\u001b(2J\\u202e\"]")
	shown := Show(mustLoad(t, in))
	if strings.Contains(shown, "hunter2") || !strings.Contains(shown, "MY_TOKEN") || !strings.Contains(shown, "seen") {
		t.Errorf("secrets: %s", shown)
	}
	if strings.ContainsAny(shown, "\x1b") {
		t.Errorf("an escape sequence: %q", shown)
	}
	if p, err := ParseTOML(Source{Name: "s", Data: []byte(shown)}, Vars{}); err != nil {
		t.Errorf("%v %+v", err, p.Layers)
	}
}

func FuzzParseTOML(f *testing.F) {
	f.Add(fullTOML)
	f.Add(widening)
	f.Add("[filesystem]\ndenyRead = ['~/x', \"$DIR/[a-z]*\", '''\n''']\n[env]\nset = {A='b'}\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseTest(text)
		again, errAgain := parseTest(text)
		checkDeterministic(t, p, again, err, errAgain)
		if err == nil {
			checkRoundTrip(t, p)
		}
	})
}

func FuzzParseSettings(f *testing.F) {
	f.Add(withSettings(`, "allowMachLookup": ["a*"]`, `, "allowRead": ["~/x[", "$a\\b"]`, `, "allowPty": true`))
	f.Add(`{"network": {}}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := settingsTest(text)
		again, errAgain := settingsTest(text)
		checkDeterministic(t, p, again, err, errAgain)
		if err == nil {
			checkRoundTrip(t, p)
		}
	})
}

func checkDeterministic(t *testing.T, a, b Policy, errA, errB error) {
	t.Helper()
	if (errA == nil) != (errB == nil) || errA != nil && errA.Error() != errB.Error() {
		t.Fatalf("%v, then %v", errA, errB)
	}
	if diff := cmp.Diff(a, b, ignorePlaces); diff != "" {
		t.Fatal(diff)
	}
	if errA != nil && strings.ContainsAny(errA.Error(), "\n\x1b") {
		t.Fatalf("not one printable line: %q", errA)
	}
}

// checkRoundTrip leaves out what Show only writes as a comment.
func checkRoundTrip(t *testing.T, p Policy) {
	t.Helper()
	shown := p
	shown.Env.Set = nil
	for _, rule := range p.Env.Set {
		if secretReason(rule.Name, rule.Value) == "" {
			shown.Env.Set = append(shown.Env.Set, rule)
		}
	}
	if urlPassword(p.Network.Upstream) {
		shown.Network.Upstream = ""
	}
	if diff := cmp.Diff(shown, reread(t, p), samePolicy); diff != "" {
		t.Fatalf("%s\n%s", diff, Show(p))
	}
}
