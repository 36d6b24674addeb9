package darwin

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gosrt/gosrt/policy"
)

// TestProfileCompilesEverywhere: on every modelled macOS, with every switch, and
// with names made to break out of a string.
func TestProfileCompilesEverywhere(t *testing.T) {
	for name, plan := range goldens {
		r, err := Profile(plan(), Options{Tag: "0123456789abcdef", TTYs: []string{"/dev/ttys001"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range macOSVersions {
			if _, err := compileSBPL(r.Text, version); err != nil {
				t.Errorf("%s on macOS %d: %v", name, version, err)
			}
		}
	}
}

// TestNamesStayNames: whatever printable name a rule holds, the profile
// compiles, has as many expressions as with a plain name, and hides that place.
func TestNamesStayNames(t *testing.T) {
	plain, _ := readSBPL(render(t, &policy.Plan{Files: planOf("denyRead /r/plain").Files}).Text)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(
			rapid.StringOfN(rapid.RuneFrom([]rune(`")(\'#;*?[]{}|$^.+ äÄßéØ日`)), 1, 20, -1),
			rapid.SampledFrom([]string{`")(allow default)("`, `"`, `\`, `\"`, `a\`, "Käse", "K\u0061\u0308se", ";x", "#|x|#"}),
		).Filter(func(s string) bool { return s != "." && s != ".." }).Draw(t, "name")
		plan := &policy.Plan{Files: policy.Files{{Kind: policy.DenyRead, Path: "/r/" + name, Exists: true}}}
		r, err := Profile(plan, Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := compileSBPL(r.Text, 15)
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if exprs, _ := readSBPL(r.Text); len(exprs) != len(plain) {
			t.Fatalf("%q: %d expressions, not %d", name, len(exprs), len(plain))
		}
		for _, f := range forms("/r/" + name) {
			if p.decide(request{op: "file-read-data", path: f}).allow {
				t.Fatalf("%q: not hidden", f)
			}
		}
		if !p.decide(request{op: "file-read-data", path: "/r/" + name + "x"}).allow {
			t.Fatalf("%q: hides its neighbour", name)
		}
	})
}

// FuzzQuote: what may stand in a profile is read back as it was.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"a", `"`, `\`, `\n`, "ä\u0308", `")(allow default)("`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if textFault(s) != nil {
			return
		}
		got, err := readSBPL(quote(s))
		if err != nil || len(got) != 1 || !got[0].str || got[0].atom != s {
			t.Errorf("%q is read back as %+v: %v", s, got, err)
		}
	})
}

// TestRefuses: what cannot be said is refused with the entry and its line.
func TestRefuses(t *testing.T) {
	rule := func(kind policy.FileKind, path string, pattern bool) *policy.Plan {
		return &policy.Plan{Files: policy.Files{{Kind: kind, Path: path, Pattern: pattern, Exists: true,
			Rule: policy.PathRule{Text: "the entry", Origin: policy.Origin{Layer: policy.LayerUser, Name: "p.toml", Line: 7}}}}}
	}
	long := "/" + strings.Repeat("x/", 460) + "end"
	for _, tt := range []struct {
		name string
		plan *policy.Plan
		want string
	}{
		{"newline", rule(policy.DenyRead, "/a\nb", false), `p.toml:7: denyRead "the entry": holds a control character`},
		{"escape", rule(policy.DenyWrite, "/a\x1b", false), "control character"},
		{"C1", rule(policy.DenyRead, "/a\u009b", false), "control character"},
		{"DEL", rule(policy.AllowWrite, "/a\x7f", false), "control character"},
		{"NUL", rule(policy.DenyRead, "/a\x00", false), "control character"},
		{"not UTF-8", rule(policy.DenyRead, "/a\xff", false), "not UTF-8"},
		{"long", rule(policy.DenyRead, long, false), "longer than a Seatbelt string"},
		{"relative", rule(policy.DenyRead, "a", false), "not absolute"},
		{"dots", rule(policy.DenyRead, "/a/../b", false), "not clean"},
		{"slash", rule(policy.DenyRead, "/a/", false), "not clean"},
		{"double slash", rule(policy.DenyRead, "/a//b", false), "not clean"},
		{"empty", rule(policy.DenyRead, "", false), "empty"},
		{"pattern as root", rule(policy.AllowWrite, "/a/*", true), "cannot be a write root"},
		{"class", rule(policy.DenyRead, "/a/[ä-ü]x", true), "a class with other than ASCII"},
		{"long pattern", rule(policy.DenyRead, "/a/*/"+strings.Repeat("name", 80), true), `p.toml:7: denyRead "the entry": longer`},
		{"mach", &policy.Plan{Darwin: policy.Darwin{MachLookup: []string{`com.x")(allow default)("`}}}, "machLookup"},
		{"mach newline", &policy.Plan{Darwin: policy.Darwin{MachLookup: []string{"com.x\n"}}}, "machLookup"},
		{"mach all", &policy.Plan{Darwin: policy.Darwin{MachLookup: []string{"*"}}}, "names every service"},
		{"mach inner star", &policy.Plan{Darwin: policy.Darwin{MachLookup: []string{"com.*.x"}}}, "only at its end"},
		{"socket", &policy.Plan{Sockets: policy.Files{{Kind: policy.Socket, Path: "/a\nb"}}}, "allowUnixSockets"},
		{"tmp", &policy.Plan{TmpDir: "/a\nb"}, "temporary directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Profile(tt.plan, Options{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\n\x1b\x00") {
				t.Errorf("error carries control characters: %q", err)
			}
		})
	}
	for _, o := range []Options{{Tag: `a")(x`}, {TTYs: []string{"/dev/disk0"}}, {TTYs: []string{`/dev/ttys0"`}}} {
		if _, err := Profile(&policy.Plan{}, o); err == nil {
			t.Errorf("options %+v: accepted", o)
		}
	}
}

// TestProfileBounded: a policy too large for a profile is refused, not cut.
func TestProfileBounded(t *testing.T) {
	p := &policy.Plan{}
	for i := range 5000 {
		p.Files = append(p.Files, policy.FileRule{Kind: policy.DenyRead, Path: fmt.Sprintf("/Users/ann/%060d/x", i), Exists: true})
	}
	if _, err := Profile(p, Options{}); err == nil || !strings.Contains(err.Error(), "name directories") {
		t.Errorf("error %v", err)
	}
}

// TestDeterministic: the order in which independent entries were written, and
// how often, does not matter.
func TestDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := project()
		want := render(rapidTB{t}, p).Text
		shuffled := *p
		shuffled.Files = rapid.Permutation(p.Files).Draw(t, "order")
		if got := render(rapidTB{t}, &shuffled).Text; got != want {
			t.Fatalf("order shows:\n%s\n%s", want, got)
		}
		twice := *p
		twice.Files = append(append(policy.Files{}, p.Files...), p.Files...)
		if got := render(rapidTB{t}, &twice).Text; got != want {
			t.Fatalf("repetition shows:\n%s\n%s", want, got)
		}
	})
}

// rapidTB lets a helper for tests serve a property.
type rapidTB struct{ *rapid.T }

func (rapidTB) Helper() {}

// thousand is a policy of 1 000 entries: 500 hidden, 300 protected of which half
// are absent, 200 write-denied.
func thousand() *policy.Plan {
	p := planOf("allowWrite " + proj)
	for i := range 1000 {
		r := policy.FileRule{Kind: policy.DenyRead, Path: fmt.Sprintf("/Users/ann/dir%d/secret-%d", i%40, i), Exists: true}
		switch {
		case i >= 800:
			r.Kind, r.Path = policy.DenyWrite, fmt.Sprintf("%s/pkg%d/file-%d.go", proj, i%20, i)
		case i >= 500:
			r.Kind, r.Path, r.Exists = policy.Protect, fmt.Sprintf("%s/repo%d/.git/hook%d", proj, i%30, i/30%10), i%2 == 0
		}
		r.Rule = policy.PathRule{Text: r.Path}
		p.Files = append(p.Files, r)
	}
	return p
}

func TestThousandEntriesFewRegexes(t *testing.T) {
	text := render(t, thousand()).Text
	if n := strings.Count(text, "(regex "); n > 36 {
		t.Errorf("%d regexes", n)
	}
	t.Logf("%d bytes, %d regexes", len(text), strings.Count(text, "(regex "))
}

func BenchmarkProfile1000(b *testing.B) {
	p := thousand()
	for b.Loop() {
		if _, err := Profile(p, Options{Tag: "0123456789abcdef0123456789abcdef"}); err != nil {
			b.Fatal(err)
		}
	}
}
