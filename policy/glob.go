package policy

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The pattern grammar, one for all four path lists, after gitignore(5):
//
//	*      any run of bytes but /, hidden names too
//	?      one character but /; one byte where the name is not UTF-8
//	[a-z]  one of a class; [!a-z] and [^a-z] anything else
//	**     as a whole component: any number of components, also none
//	\x     the character x itself
//
// A "[" that is never closed stands for itself. "dir/**" is the same as "dir":
// the directory and all beneath it. A pattern covers what is beneath a match.

// glob is a compiled pattern.
type glob struct {
	base     string // the canonical directory before the first wildcard component
	segments []string
	// need is the longest component without wildcards, behind a slash: a path
	// without it cannot match, and most paths end here.
	need string
}

// newGlob splits an absolute pattern at its first wildcard component.
func newGlob(pattern string) glob {
	names := components(pattern)
	n := 0
	for n < len(names) && !wild(names[n]) {
		names[n] = unescape(names[n])
		n++
	}
	segments := slices.CompactFunc(names[n:], func(a, b string) bool { return a == "**" && b == "**" })
	g := glob{base: "/" + strings.Join(names[:n], "/"), segments: segments}
	for _, seg := range segments {
		if !wild(seg) && len(seg) >= len(g.need) {
			g.need = "/" + unescape(seg)
		}
	}
	return g
}

// wild says that a component holds an unescaped wildcard.
func wild(name string) bool {
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		case '[':
			if _, end := class(name[i:]); end > 0 {
				return true
			}
		}
	}
	return false
}

func unescape(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '\\' && i+1 < len(name) {
			i++
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// escape spells a literal path as a pattern.
func escape(p string) string { return patternEscaper.Replace(p) }

// patternEscaper is built once: every entry of a policy goes through it.
var patternEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// states is the set of segments that a walk down a path has reached: an NFA over
// components. Patterns are short, so a bit each; longer ones are refused at
// compile (maxSegments).
type states uint64

const maxSegments = 62

// start is the state at the base directory.
func (g glob) start() states { return g.closure(1) }

// closure passes over "**", which may match no component at all.
func (g glob) closure(s states) states {
	for i, seg := range g.segments {
		if seg == "**" && s&(1<<i) != 0 {
			s |= 1 << (i + 1)
		}
	}
	return s
}

// step is the state one component further down.
func (g glob) step(s states, name string) states {
	var next states
	for i, seg := range g.segments {
		switch {
		case s&(1<<i) == 0:
		case seg == "**":
			next |= 1 << i
		case matchName(seg, name):
			next |= 1 << (i + 1)
		}
	}
	return g.closure(next)
}

func (g glob) done(s states) bool { return s&(1<<len(g.segments)) != 0 }

// match returns the deepest prefix of an absolute path that the pattern
// matches: the pattern covers p when there is one.
func (g glob) match(p string) (prefix string, ok bool) {
	switch {
	case !within(g.base, p):
		return "", false
	case len(g.segments) == 0:
		return g.base, true
	case !strings.Contains(p[len(g.base)-1:], g.need):
		return "", false
	}
	g.walk(p, func(at int, s states) {
		if g.done(s) {
			prefix, ok = "/"+strings.TrimPrefix(p[:at], "/"), true
		}
	})
	return prefix, ok
}

// walk calls visit with the state at the base and after each further component
// of p, which lies at or beneath the base.
func (g glob) walk(p string, visit func(end int, s states)) {
	s := g.start()
	at := len(strings.TrimSuffix(g.base, "/"))
	visit(at, s)
	for at < len(p) && p != "/" && s != 0 {
		end := len(p)
		if i := strings.IndexByte(p[at+1:], '/'); i >= 0 {
			end = at + 1 + i
		}
		s = g.step(s, p[at+1:end])
		at = end
		visit(at, s)
	}
}

// leadsOn says that part of the pattern beyond a leading "**" has matched at p, so
// that the rest could match below.
func (g glob) leadsOn(p string) bool {
	if !within(g.base, p) {
		return within(p, g.base)
	}
	var last states
	g.walk(p, func(end int, s states) {
		if last = s; end < len(p) {
			last = 0
		}
	})
	return last&^g.start() != 0
}

// matchName matches one component. Only "*" backtracks, and only the last one
// needs to, so the time is bounded by len(pattern) * len(name).
func matchName(pattern, name string) bool {
	starP, starN := -1, 0
	p, n := 0, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			starP, starN = p, n
			p++
			continue
		}
		if dp, dn := matchOne(pattern[p:], name[n:]); dn > 0 {
			p, n = p+dp, n+dn
			continue
		}
		if starP < 0 {
			return false
		}
		starN++
		p, n = starP+1, starN
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchOne matches the first character of name, and returns how much of the
// pattern and of the name that used; 0, 0 when it does not match.
func matchOne(pattern, name string) (int, int) {
	if pattern == "" {
		return 0, 0
	}
	char, size := utf8.DecodeRuneInString(name)
	switch pattern[0] {
	case '?':
		return 1, size
	case '[':
		if in, end := class(pattern); end > 0 {
			if in(char) {
				return end, size
			}
			return 0, 0
		}
	case '\\':
		if len(pattern) > 1 {
			if pattern[1] == name[0] {
				return 2, 1
			}
			return 0, 0
		}
	}
	if pattern[0] == name[0] {
		return 1, 1
	}
	return 0, 0
}

// class parses a bracket expression at the start of pattern. end is 0 when it is
// never closed.
func class(pattern string) (in func(rune) bool, end int) {
	i, not := 1, false
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		i, not = i+1, true
	}
	var ranges []rune // pairs, inclusive
	for first := true; ; first = false {
		if i >= len(pattern) {
			return nil, 0
		}
		if pattern[i] == ']' && !first {
			break
		}
		lo, n := classChar(pattern[i:])
		i += n
		hi := lo
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			hi, n = classChar(pattern[i+1:])
			i += 1 + n
		}
		ranges = append(ranges, lo, hi)
	}
	return func(r rune) bool {
		for k := 0; k < len(ranges); k += 2 {
			if ranges[k] <= r && r <= ranges[k+1] {
				return !not
			}
		}
		return not
	}, i + 1
}

func classChar(s string) (rune, int) {
	if s[0] == '\\' && len(s) > 1 {
		r, n := utf8.DecodeRuneInString(s[1:])
		return r, n + 1
	}
	return utf8.DecodeRuneInString(s)
}
