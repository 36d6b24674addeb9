package main

import (
	"fmt"
	"strings"

	"github.com/gosrt/gosrt/internal/report"
)

// printable is text that may come from inside the sandbox as one line.
func printable(s string) string { return report.Printable(s) }

// plainWord holds the bytes that no POSIX shell gives a meaning to, anywhere in
// a word. "~" and "=" are missing: they mean something at a word's start.
const plainWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,-"

// quoteLine is args as one line that a shell reads back as exactly args.
func quoteLine(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = quoteWord(a)
	}
	return strings.Join(words, " ")
}

func quoteWord(s string) string {
	switch {
	case s != "" && strings.Trim(s, plainWord) == "":
		return s
	case printable(s) == s:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return quoteBytes(s)
}

// quoteBytes spells s in the $'…' form (POSIX.1-2024, XCU 2.2.4), for text
// that would not survive being printed.
func quoteBytes(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c) // octal: at most three digits, so what follows cannot join
		default:
			b.WriteByte(c)
		}
	}
	b.WriteString("'")
	return b.String()
}
