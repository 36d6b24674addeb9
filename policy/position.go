package policy

import (
	"fmt"
	"strings"
)

// PositionError is a mistake in a policy, at the place where the user can
// correct it.
type PositionError struct {
	// File is the file as the user would type it, or the flag ("--allow-write").
	File string
	Line int // 1-based; 0 where there is no line
	// Key is the dotted key ("network.allowedDomains"); empty for the file as a whole.
	Key string
	Msg string
	// Suggestion is the nearest right spelling; empty when none is near.
	Suggestion string
}

func (e *PositionError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Msg)
	if e.Suggestion != "" {
		fmt.Fprintf(&b, " (did you mean %s?)", e.Suggestion)
	}
	return b.String()
}
