package policy

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestGlobMatch: want is the deepest matched prefix; empty: not covered.
func TestGlobMatch(t *testing.T) {
	tests := []struct{ pattern, path, want string }{
		{"/p/*.env", "/p/.env", "/p/.env"}, // a star matches nothing, and hidden names
		{"/p/*.env", "/p/a/.env", ""},      // but no slash
		{"/p/*", "/p/a/b", "/p/a"},         // beneath a match
		{"/p/*", "/p", ""},                 // not the base itself
		{"/p/**/x", "/p/x", "/p/x"},        // ** matches no component
		{"/p/**/x", "/p/a/b/x/c", "/p/a/b/x"},
		{"/p/**/x", "/p/x/x/y", "/p/x/x"}, // the deepest
		{"/p/**/x", "/q/x", ""},
		{"/p/**/x", "/p/ax", ""},
		{"/p/a**b", "/p/aXb", "/p/aXb"}, // ** inside a name is *
		{"/p/a**b", "/p/a/b", ""},
		{"/p/?", "/p/é", "/p/é"},       // one character
		{"/p/?", "/p/\xff", "/p/\xff"}, // one byte that is no UTF-8
		{"/p/??", "/p/é", ""},
		{"/p/[a-c]x", "/p/bx", "/p/bx"},
		{"/p/[!a-c]x", "/p/bx", ""},
		{"/p/[^a-c]x", "/p/dx", "/p/dx"},
		{"/p/[]]", "/p/]", "/p/]"}, // ] first in a class is itself
		{"/p/[a-]", "/p/-", "/p/-"},
		{`/p/[\]]`, "/p/]", "/p/]"},
		{"/p/a[b*", "/p/a[bc", "/p/a[bc"}, // never closed: itself
		{`/p/\*x*`, "/p/*xy", "/p/*xy"},
		{`/p/\*x*`, "/p/axy", ""},
		{`/p\*/x*`, "/p*/xy", "/p*/xy"}, // an escape in the base
		{"/p/*a*a*a*a*b", "/p/" + strings.Repeat("a", 4000), ""},
		{"/**/.git/hooks", "/a/.git/hooks/x", "/a/.git/hooks"},
		{"/p/**/*.git/modules/**/config", "/p/a/.git/modules/b/c/config", "/p/a/.git/modules/b/c/config"},
		{"/p/a\nb*", "/p/a\nbc", "/p/a\nbc"},
		{"/p/x/x*", "/p/x/x/x1", "/p/x/x"}, // equal components are not folded
	}
	for _, tt := range tests {
		if got, _ := newGlob(tt.pattern).match(tt.path); got != tt.want {
			t.Errorf("%q on %.40q: %q, want %q", tt.pattern, tt.path, got, tt.want)
		}
	}
}

// TestEscapedIsLiteral: an escaped path matches itself and nothing else.
func TestEscapedIsLiteral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-c*?\[\]\\!^-]{1,6}`)
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		if wild(escape(a)) {
			t.Fatalf("escape(%q) = %q still holds a wildcard", a, escape(a))
		}
		if got := unescape(escape(a)); got != a {
			t.Fatalf("unescape(escape(%q)) = %q", a, got)
		}
		if matchName(escape(a), b) != (a == b) {
			t.Fatalf("escape(%q) on %q", a, b)
		}
	})
}

// TestGlobAgainstExpansion compares with the plainest matcher there is.
func TestGlobAgainstExpansion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segs := rapid.SliceOfN(rapid.SampledFrom([]string{"**", "*", "a", "b*", "[ab]", "?"}), 1, 5).Draw(t, "pattern")
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ba", "c"}), 1, 5).Draw(t, "path")
		want := ""
		for i := range names {
			if plainMatch(segs, names[:i+1]) {
				want = "/" + strings.Join(names[:i+1], "/")
			}
		}
		pattern, path := "/"+strings.Join(segs, "/"), "/"+strings.Join(names, "/")
		if g := newGlob(pattern); !slices.ContainsFunc(segs, wild) {
			return // a literal covers by base
		} else if got, _ := g.match(path); got != want {
			t.Fatalf("%s on %s: %q, want %q", pattern, path, got, want)
		}
	})
}

func plainMatch(segs, names []string) bool {
	switch {
	case len(segs) == 0:
		return len(names) == 0
	case segs[0] == "**":
		return plainMatch(segs[1:], names) || len(names) > 0 && plainMatch(segs, names[1:])
	}
	return len(names) > 0 && matchName(segs[0], names[0]) && plainMatch(segs[1:], names[1:])
}
