package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable makes one printable line of text that may come from inside the
// sandbox: control, format and undecodable bytes appear as escapes, so that
// they neither move the cursor nor look like a line of gosrt's own.
func Printable(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		writePrintable(&b, r, s[:n])
		s = s[n:]
	}
	return b.String()
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func writePrintable(b *strings.Builder, r rune, raw string) {
	switch {
	case r == utf8.RuneError && len(raw) == 1, r < ' ', r == 0x7f:
		fmt.Fprintf(b, `\x%02x`, raw[0])
	case unicode.IsPrint(r):
		b.WriteString(raw)
	default:
		fmt.Fprintf(b, `\u%04x`, r)
	}
}

// Cut shortens s to at most limit bytes, between two characters, and marks it.
// The result is a copy: it does not keep a longer text alive.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
