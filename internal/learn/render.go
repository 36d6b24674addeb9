package learn

import (
	"fmt"
	"strings"
)

// Render writes entries as a policy file, with the reason of each in a comment.
// Notes are further comments, one line each; they must be printable.
func Render(head string, entries []Entry, notes []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", head)
	for _, n := range notes {
		fmt.Fprintf(&b, "# %s\n", n)
	}
	table := ""
	for _, list := range listOrder {
		section, key, inTable := strings.Cut(list, ".")
		rows := rowsOf(entries, list)
		if rows == "" {
			continue
		}
		if inTable && section != table {
			fmt.Fprintf(&b, "\n[%s]\n", section)
			table = section
		}
		if !inTable {
			key = section
		}
		fmt.Fprintf(&b, "%s = [\n%s]\n", key, rows)
	}
	return b.String()
}

func rowsOf(entries []Entry, list string) string {
	var b strings.Builder
	for _, e := range entries {
		if e.List == list {
			fmt.Fprintf(&b, "  %s, # %s\n", Quote(e.Value), e.Reason)
		}
	}
	return b.String()
}

// Quote is s as a basic string (TOML 1.0.0, "String").
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
