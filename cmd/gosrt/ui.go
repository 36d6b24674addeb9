package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// ui prints gosrt's own lines. The zero quiet prints everything but what
// verbose asks for.
type ui struct {
	w       io.Writer
	color   bool
	quiet   bool
	verbose bool
}

// newUI colours only on a terminal and never against NO_COLOR (no-color.org:
// any non-empty value).
func newUI(w io.Writer, noColor string) *ui {
	f, isFile := w.(*os.File)
	return &ui{w: w, color: noColor == "" && isFile && term.IsTerminal(int(f.Fd()))}
}

// kind is the word after "gosrt: ". Its colour only repeats what it says.
type kind struct{ word, color string }

var (
	kindError   = kind{"error", "\x1b[31m"}
	kindWarning = kind{"warning", "\x1b[33m"}
	kindDenied  = kind{"denied", "\x1b[33m"}
	kindHint    = kind{"hint", "\x1b[36m"}
	kindNote    = kind{"note", ""}
)

// line prints one line. It is built whole and written once, so that it does not
// interleave with what the command writes to the same terminal.
func (u *ui) line(k kind, text string) {
	word := k.word
	if u.color && k.color != "" {
		word = k.color + word + "\x1b[0m"
	}
	fmt.Fprintf(u.w, "gosrt: %s: %s\n", word, printable(text))
}

// linef drops what --quiet silences: everything but errors and their hints.
func (u *ui) linef(k kind, format string, args ...any) {
	if !u.quiet {
		u.line(k, fmt.Sprintf(format, args...))
	}
}

// hinter is an error that knows what to do about it.
type hinter interface {
	error
	HintText() string
}

// misuse is a wrong command line, with the right one.
type misuse struct{ text, hint string }

func (m misuse) Error() string    { return m.text }
func (m misuse) HintText() string { return m.hint }

// fail prints err, each part of a joined one on a line of its own with its hint.
func (u *ui) fail(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && strings.Contains(err.Error(), "\n") {
		for _, e := range joined.Unwrap() {
			u.fail(e)
		}
		return
	}
	u.line(kindError, err.Error())
	var h hinter
	if errors.As(err, &h) && h.HintText() != "" {
		u.line(kindHint, h.HintText())
	}
}
