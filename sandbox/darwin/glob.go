package darwin

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// glob is a canonical pattern of policy (its grammar is at the top of
// policy/glob.go), cut into components: the literal ones of base, unescaped,
// and the segments from the first wildcard on.
type glob struct {
	base     string
	segments []string
	match    []*regexp.Regexp // of each segment; nil for "**"
	// char writes one character: in both cases for a denial, because a volume
	// that ignores case opens .ENV for a program that asks for .env and reports a
	// new name as it was typed; as it is for a permission.
	char func(rune) string
}

// anyDirs is the segment that stands for any number of components.
const anyDirs = "**"

func newGlob(pattern string, fold bool) (glob, error) {
	var names []string
	parts := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	for len(parts) > 0 && !isWild(parts[0]) {
		names = append(names, unescape(parts[0]))
		parts = parts[1:]
	}
	g := glob{base: canonical("/" + strings.Join(names, "/")), char: escapeRune}
	if fold {
		g.char = foldRune
	}
	g.segments = slices.CompactFunc(parts, func(a, b string) bool { return a == anyDirs && b == anyDirs })
	for _, s := range g.segments {
		if err := segmentFault(s); err != nil {
			return glob{}, err
		}
		if s == anyDirs {
			g.match = append(g.match, nil)
			continue
		}
		m, err := regexp.Compile("(?s)^" + g.segmentRegex(s) + "$")
		if err != nil {
			return glob{}, errors.New("its classes cannot be written for macOS")
		}
		g.match = append(g.match, m)
	}
	return g, nil
}

func isWild(name string) bool {
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		case '[':
			if _, end := parseClass(name[i:]); end > 0 {
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

// segmentFault refuses what the regex dialect of the kernel has no sure
// spelling for.
func segmentFault(segment string) error {
	for i := 0; i < len(segment); i++ {
		switch segment[i] {
		case '\\':
			i++
		case '[':
			c, end := parseClass(segment[i:])
			if end > 0 && c.foreign {
				return errors.New("a class with other than ASCII characters cannot be held on macOS; list the names")
			}
			i += max(end-1, 0)
		}
	}
	return nil
}

// segmentRegex writes one component.
func (g glob) segmentRegex(segment string) string {
	var b strings.Builder
	for i := 0; i < len(segment); {
		rest := segment[i:]
		switch {
		case rest[0] == '*':
			if !strings.HasSuffix(b.String(), "[^/]*") {
				b.WriteString("[^/]*")
			}
			i++
			continue
		case rest[0] == '?':
			b.WriteString("[^/]")
			i++
			continue
		case rest[0] == '\\' && len(rest) > 1:
			i++
			rest = rest[1:]
		case rest[0] == '[':
			if c, end := parseClass(rest); end > 0 {
				b.WriteString(c.regex())
				i += end
				continue
			}
		}
		r, n := utf8.DecodeRuneInString(rest)
		b.WriteString(g.char(r))
		i += n
	}
	return b.String()
}

// regex is the pattern anchored at its base. Exact matches alone, otherwise
// with everything beneath.
func (g glob) regex(exact bool) string { return g.regexFrom(literalRegex(g.base), 0, exact) }

// regexFrom is the pattern from segment i on, beneath a directory already
// written as a regex.
func (g glob) regexFrom(dir string, i int, exact bool) string {
	out := "^" + strings.TrimSuffix(dir, "/") + g.segmentsRegex(i)
	if exact {
		return out + "$"
	}
	return out + "(/.*)?$"
}

// segmentsRegex writes the segments from i on, "**" as any number of whole
// components.
func (g glob) segmentsRegex(i int) string {
	var b strings.Builder
	for _, s := range g.segments[i:] {
		if s == anyDirs {
			b.WriteString("(/.*)?")
		} else {
			b.WriteString("/" + g.segmentRegex(s))
		}
	}
	return b.String()
}

// prefix is the pattern cut after n segments.
func (g glob) prefix(n int) glob {
	g.segments, g.match = g.segments[:n], g.match[:n]
	return g
}

// reached is the set of segments at which a walk down from base stands; the
// index len(segments) says that the pattern has matched.
type reached []bool

func (g glob) start() reached {
	at := make(reached, len(g.segments)+1)
	at[0] = true
	return g.skip(at)
}

// skip passes over "**", which may stand for no component at all.
func (g glob) skip(at reached) reached {
	for i, s := range g.segments {
		if at[i] && s == anyDirs {
			at[i+1] = true
		}
	}
	return at
}

// step walks down by one component; fits says which segments it may match.
func (g glob) step(at reached, fits func(i int) bool) reached {
	next := make(reached, len(at))
	for i, s := range g.segments {
		switch {
		case !at[i]:
		case s == anyDirs:
			next[i] = true
		case fits(i):
			next[i+1] = true
		}
	}
	return g.skip(next)
}

// walk goes from base down to dir, which must be within base.
func (g glob) walk(dir string) reached {
	at := g.start()
	for _, name := range relative(dir, g.base) {
		at = g.step(at, func(i int) bool { return g.match[i].MatchString(name) })
	}
	return at
}

// walkGlob goes down by the segments of another pattern: it holds every place
// that some path matching o may reach.
func (g glob) walkGlob(at reached, o glob) reached {
	anything := func(int) bool { return true }
	for _, s := range o.segments {
		switch {
		case s == anyDirs:
			for range g.segments { // until nothing new can be reached
				at = union(at, g.step(at, anything))
			}
		case isWild(s):
			at = g.step(at, anything)
		default:
			name := unescape(s)
			at = g.step(at, func(i int) bool { return g.match[i].MatchString(name) })
		}
	}
	return at
}

func union(a, b reached) reached {
	out := slices.Clone(a)
	for i := range b {
		out[i] = out[i] || b[i]
	}
	return out
}

// open lists the segments from which the pattern still has to match, less those
// that a "**" before them stands for anyway.
func (g glob) open(at reached) []int {
	var out []int
	for i := range g.segments {
		if at[i] && !(i > 0 && at[i-1] && g.segments[i-1] == anyDirs) {
			out = append(out, i)
		}
	}
	return out
}

// beneath writes the pattern for paths strictly beneath dir: what it matches
// there by itself, not because it matched dir or a directory above.
func (g glob) beneath(dir string, exact bool) []string {
	var out []string
	for _, i := range g.open(g.walk(dir)) {
		out = append(out, g.regexFrom(literalRegex(dir), i, exact))
	}
	return out
}

// matches says whether the pattern matches p itself.
func (g glob) matches(p string) bool { return g.walk(p)[len(g.segments)] }

// matchesAbove says whether it matches a directory above p.
func (g glob) matchesAbove(p string) bool {
	return slices.ContainsFunc(ancestors(p, g.base), g.matches)
}

// beneathGlob writes g for paths strictly beneath a match of o.
func (g glob) beneathGlob(o glob) []string {
	var out []string
	switch {
	case within(o.base, g.base):
		at := g.walkGlob(g.walk(o.base), o)
		dir := literalRegex(o.base) + o.segmentsRegex(0)
		for _, i := range g.open(at) {
			out = append(out, g.regexFrom(dir, i, false))
		}
	case within(g.base, o.base):
		out = append(out, g.regex(false))
	}
	return out
}

// relative lists the components of p beneath dir.
func relative(p, dir string) []string {
	rest := strings.Trim(strings.TrimPrefix(p, dir), "/")
	if rest == "" {
		return nil
	}
	return strings.Split(rest, "/")
}
