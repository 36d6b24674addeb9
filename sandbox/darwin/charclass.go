package darwin

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// charClass is a bracket expression of a pattern, as a set of ASCII characters.
type charClass struct {
	set     [utf8.RuneSelf]bool
	not     bool
	foreign bool // names a character outside ASCII
}

// parseClass reads a bracket expression at the start of pattern by the grammar
// of policy/glob.go; end is 0 when it is never closed.
func parseClass(pattern string) (c charClass, end int) {
	i := 1
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		i, c.not = i+1, true
	}
	for first := true; ; first = false {
		if i >= len(pattern) {
			return charClass{}, 0
		}
		if pattern[i] == ']' && !first {
			return c, i + 1
		}
		lo, n := classChar(pattern[i:])
		i += n
		hi := lo
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			hi, n = classChar(pattern[i+1:])
			i += 1 + n
		}
		c.add(lo, hi)
	}
}

func classChar(s string) (rune, int) {
	if s[0] == '\\' && len(s) > 1 {
		r, n := utf8.DecodeRuneInString(s[1:])
		return r, n + 1
	}
	return utf8.DecodeRuneInString(s)
}

// add puts a range into the set, with the other case of its letters.
func (c *charClass) add(lo, hi rune) {
	for r := lo; r <= hi && r < utf8.RuneSelf; r++ {
		c.set[r] = true
		if unicode.IsLetter(r) {
			c.set[r^0x20] = true
		}
	}
	c.foreign = c.foreign || hi >= utf8.RuneSelf
}

// regex writes the class so that POSIX and Perl dialects read it alike: "]"
// first, "^" and "-" last, the backslash doubled. A name never holds a slash.
func (c charClass) regex() string {
	var plain, tail string
	c.set['/'] = c.not
	for lo := 0; lo < len(c.set); lo++ {
		hi := lo
		for hi+1 < len(c.set) && c.set[lo] && c.set[hi+1] && isAlnum(byte(lo)) && isAlnum(byte(hi+1)) {
			hi++
		}
		switch {
		case !c.set[lo]:
		case strings.ContainsRune(`]^-`, rune(lo)):
		case lo == '\\':
			tail += `\\`
		case hi-lo > 1:
			plain += string(rune(lo)) + "-" + string(rune(hi))
		default:
			hi = lo
			plain += string(rune(lo))
		}
		lo = hi
	}
	if c.set[']'] {
		plain = "]" + plain
	}
	for _, r := range "^-" {
		if c.set[r] {
			tail += string(r)
		}
	}
	return c.wrap(plain + tail)
}

func (c charClass) wrap(inner string) string {
	switch {
	case c.not:
		return "[^" + inner + "]"
	case inner == "^":
		return `\^` // "[^]" would be an open class
	}
	return "[" + inner + "]"
}

func isAlnum(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// foldRune writes one character in both cases. Letters beyond ASCII become an
// alternation, because a class may be read byte by byte.
func foldRune(r rune) string {
	if r < utf8.RuneSelf {
		if unicode.IsLetter(r) {
			return "[" + string(unicode.ToLower(r)) + string(unicode.ToUpper(r)) + "]"
		}
		return escapeRune(r)
	}
	out := string(r)
	for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
		if o >= utf8.RuneSelf {
			out += "|" + string(o)
		}
	}
	if out == string(r) {
		return out
	}
	return "(" + out + ")"
}

// escapeRune is r itself in a regex. Braces are escaped although it is not
// known whether they mean anything.
func escapeRune(r rune) string {
	if strings.ContainsRune(`.^$*+?()[]{}|\`, r) {
		return `\` + string(r)
	}
	return string(r)
}

// literalRegex matches s alone; foldRegex in any case.
func literalRegex(s string) string { return mapRunes(s, escapeRune) }
func foldRegex(s string) string    { return mapRunes(s, foldRune) }

func mapRunes(s string, f func(rune) string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteString(f(r))
	}
	return b.String()
}
