package policy

import (
	"strings"
	"testing"
)

var testVars = Vars{Home: "/home/u", Env: []string{
	"DIR=/srv/data", "STAR=/srv/a*b", "REL=sub", "EMPTY=", "DIR=/second", "UP=/srv/..", "BAD=a\x00b",
}}

func TestExpandPath(t *testing.T) {
	for _, tt := range []struct {
		text, path string
		pattern    bool
	}{
		{"/etc", "/etc", false},
		{"/etc/", "/etc", false},
		{"/etc//x/./y/", "/etc/x/y", false},
		{"/", "/", false},
		{"//", "/", false},
		{"/**", "/", false},
		{"**", "/work/a[1]", false},
		{".", "/work/a[1]", false},
		{"x", "/work/a[1]/x", false},
		{"x/**", "/work/a[1]/x", false},
		{"x/**/", "/work/a[1]/x", false},
		{"x/**/**", "/work/a[1]/x", false},
		{"~", "/home/u", false},
		{"~/", "/home/u", false},
		{"~/.ssh", "/home/u/.ssh", false},
		{"~/**", "/home/u", false},
		{"a~", "/work/a[1]/a~", false},
		{`\~u`, "/work/a[1]/~u", false},
		{"../up", "/work/a[1]/../up", false}, // past a link this is not /work/up
		{"$DIR/x", "/srv/data/x", false},     // the first of a name counts
		{"${DIR}x", "/srv/datax", false},
		{"$REL/x", "/work/a[1]/sub/x", false},
		{"$UP/x", "/srv/../x", false},
		{`a\$b`, "/work/a[1]/a$b", false},
		{`a\*b`, "/work/a[1]/a*b", false},
		{`a\[b\]`, "/work/a[1]/a[b]", false},
		{`a\\b`, `/work/a[1]/a\b`, false},
		{"$STAR", "/srv/a*b", false}, // a value is text, not a pattern
		{" spaced name ", "/work/a[1]/ spaced name ", false},
		{"new\nline", "/work/a[1]/new\nline", false},
		{"*.pem", `/work/a\[1]/*.pem`, true},
		{"/x/*.d/", "/x/*.d", true},
		{"/x/**/y", "/x/**/y", true},
		{"/x/*/**", "/x/*", true},
		{"$STAR/*.c", `/srv/a\*b/*.c`, true},
		{"~/[a-z]?", "/home/u/[a-z]?", true},
		{"/x/[!a]", "/x/[!a]", true},
		{"../*.c", `/work/a\[1]/../*.c`, true},
	} {
		rule, err := expandPath(tt.text, "/work/a[1]", testVars)
		if err != nil {
			t.Errorf("expandPath(%q): %v", tt.text, err)
			continue
		}
		if rule.Path != tt.path || rule.Pattern != tt.pattern || rule.Text != tt.text {
			t.Errorf("expandPath(%q) = %q pattern %t, want %q pattern %t", tt.text, rule.Path, rule.Pattern, tt.path, tt.pattern)
		}
		if IsPattern(tt.text) != tt.pattern {
			t.Errorf("IsPattern(%q) = %t", tt.text, !tt.pattern)
		}
	}
}

func TestExpandPathRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":             "empty",
		"  \t":         "empty",
		"a\x00b":       "NUL",
		"~root/x":      "another user",
		"~~":           "another user",
		"$UNSET/x":     "UNSET is not set",
		"${UNSET}":     "UNSET is not set",
		"$EMPTY/x":     "EMPTY is empty",
		"$BAD":         "NUL",
		"$":            `write \$`,
		"a$/b":         `write \$`,
		"${DIR":        "without a variable's name",
		"${}":          "without a variable's name",
		"${1x}":        "without a variable's name",
		`a\b`:          `write \\`,
		`a\`:           `write \\`,
		"a[b":          "not closed",
		"[a/b]":        "not closed",
		"*/../x":       "behind a wildcard",
		"/x/[z-a]/y":   "can never match",
		"**/../../etc": "behind a wildcard",
	} {
		rule, err := expandPath(text, "/work", testVars)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expandPath(%q) = %+v, %v; want an error with %q", text, rule, err, want)
		}
	}
}

// An empty or relative home must not turn "~" into "/" or into a place below
// the current directory.
func TestExpandPathWithoutHome(t *testing.T) {
	for _, home := range []string{"", "relative"} {
		if rule, err := expandPath("~/x", "/work", Vars{Home: home}); err == nil {
			t.Errorf("home %q: ~/x became %q", home, rule.Path)
		}
	}
	if rule, err := expandPath("x", "", Vars{}); err == nil {
		t.Errorf("without a base, x became %q", rule.Path)
	}
}

func TestNearest(t *testing.T) {
	keys := []string{"denyRead", "allowRead", "allowWrite", "denyWrite", "tmp", "absent"}
	for word, want := range map[string]string{
		"denyRaed": "denyRead", "denyread": "denyRead", "DENYREAD": "denyRead", "deny_read": "denyRead", "denyReads": "denyRead",
		"allow-write": "allowWrite", "alowWrite": "allowWrite", "allow": "allowRead", "temp": "tmp",
		"zzz": "", "": "", "completely-else": "",
	} {
		if got := nearest(word, keys); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
