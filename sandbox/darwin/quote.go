package darwin

import (
	"errors"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxLiteral bounds one quoted string. The compiler gives up somewhere above
// 1 024 bytes, and with it the whole profile (seatbelt: "string too long").
const maxLiteral = 900

// quote writes s as a string of the profile language, where only the backslash
// and the double quote are special. strconv.Quote would be wrong: the reader
// knows no \u, \x or \a, so the rule would name a path that does not exist.
func quote(s string) string {
	return `"` + quoter.Replace(s) + `"`
}

var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// textFault says why s cannot stand in a profile; nil when it can.
func textFault(s string) error {
	switch {
	case s == "":
		return errors.New("empty")
	case !utf8.ValidString(s):
		return errors.New("not UTF-8, and no macOS volume holds such a name")
	case strings.ContainsFunc(s, isControl):
		return errors.New("holds a control character")
	case len(quote(s)) > maxLiteral:
		return errors.New("longer than a Seatbelt string can be; name a directory above it")
	}
	return nil
}

// isControl covers C0, DEL and C1. The reader of the profile language knows no
// escape for them, and a raw one could end a line of the log or of a terminal.
func isControl(r rune) bool {
	return r < 0x20 || 0x7f <= r && r < 0xa0
}

// pathFault says why p cannot be the path of a filter; nil when it can.
func pathFault(p string) error {
	if err := textFault(p); err != nil {
		return err
	}
	switch {
	case p[0] != '/':
		return errors.New("not absolute")
	case path.Clean(p) != p:
		return errors.New(`not clean ("..", "." or a doubled or trailing slash never matches)`)
	}
	return nil
}

// forms returns s in each Unicode normal form that differs. APFS finds a name
// in any of them and reports the one it was created with.
func forms(s string) []string {
	out := []string{s}
	for _, f := range []norm.Form{norm.NFC, norm.NFD} {
		if t := f.String(s); t != out[0] && t != out[len(out)-1] {
			out = append(out, t)
		}
	}
	return out
}
