package darwin

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The evaluator, part one: a reader as strict as Apple's. What it does not know
// fails the whole profile, as there.

// sexp is one expression: an atom, a string or a list.
type sexp struct {
	atom   string
	str    bool // atom is a string literal
	list   []sexp
	isList bool
}

func (s sexp) head() string {
	if s.isList && len(s.list) > 0 && !s.list[0].isList && !s.list[0].str {
		return s.list[0].atom
	}
	return ""
}

type sbplReader struct {
	text string
	pos  int
}

// readSBPL reads a whole profile.
func readSBPL(text string) ([]sexp, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("not UTF-8")
	}
	r := &sbplReader{text: text}
	var out []sexp
	for {
		r.space()
		if r.pos == len(r.text) {
			return out, nil
		}
		e, err := r.expr()
		if err != nil {
			return nil, fmt.Errorf("at byte %d: %w", r.pos, err)
		}
		out = append(out, e)
	}
}

func (r *sbplReader) space() {
	for r.pos < len(r.text) {
		switch r.text[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		case ';':
			end := strings.IndexByte(r.text[r.pos:], '\n')
			if end < 0 {
				r.pos = len(r.text)
				return
			}
			r.pos += end
		default:
			return
		}
	}
}

func (r *sbplReader) expr() (sexp, error) {
	switch c := r.text[r.pos]; {
	case c == '(':
		return r.listExpr()
	case c == ')':
		return sexp{}, fmt.Errorf("unbalanced )")
	case c == '"':
		r.pos++
		return r.cooked()
	case strings.HasPrefix(r.text[r.pos:], `#"`):
		r.pos += 2
		return r.raw()
	case c == '\'':
		r.pos++
		inner, err := r.expr()
		return sexp{isList: true, list: []sexp{{atom: "quote"}, inner}}, err
	}
	return r.symbol()
}

func (r *sbplReader) listExpr() (sexp, error) {
	r.pos++
	out := sexp{isList: true}
	for {
		r.space()
		if r.pos == len(r.text) {
			return out, fmt.Errorf("unbalanced (")
		}
		if r.text[r.pos] == ')' {
			r.pos++
			return out, nil
		}
		e, err := r.expr()
		if err != nil {
			return out, err
		}
		out.list = append(out.list, e)
	}
}

const symbolChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-*?_.!"

func (r *sbplReader) symbol() (sexp, error) {
	start := r.pos
	for r.pos < len(r.text) && strings.IndexByte(symbolChars, r.text[r.pos]) >= 0 {
		r.pos++
	}
	if r.pos == start {
		return sexp{}, fmt.Errorf("unexpected %q", r.text[r.pos])
	}
	return sexp{atom: r.text[start:r.pos]}, nil
}

// cooked knows the escapes \" \\ \n \t and no others.
func (r *sbplReader) cooked() (sexp, error) {
	var b strings.Builder
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		r.pos++
		switch {
		case c == '"':
			return stringExpr(b.String())
		case c != '\\':
			b.WriteByte(c)
		case r.pos == len(r.text):
			return sexp{}, fmt.Errorf("string not closed")
		default:
			e, ok := map[byte]byte{'"': '"', '\\': '\\', 'n': '\n', 't': '\t'}[r.text[r.pos]]
			if !ok {
				return sexp{}, fmt.Errorf("escape \\%c is not decoded", r.text[r.pos])
			}
			b.WriteByte(e)
			r.pos++
		}
	}
	return sexp{}, fmt.Errorf("string not closed")
}

// raw keeps backslashes; only \" is more than itself.
func (r *sbplReader) raw() (sexp, error) {
	start := r.pos
	for ; r.pos < len(r.text); r.pos++ {
		switch r.text[r.pos] {
		case '\\':
			r.pos++
		case '"':
			s := strings.ReplaceAll(r.text[start:r.pos], `\"`, `"`)
			r.pos++
			return stringExpr(s)
		}
	}
	return sexp{}, fmt.Errorf("string not closed")
}

func stringExpr(s string) (sexp, error) {
	if len(s) > 1024 {
		return sexp{}, fmt.Errorf("string of %d bytes", len(s))
	}
	for _, r := range s {
		if r < 0x20 || r == 0x7f {
			return sexp{}, fmt.Errorf("control character %q in a string", r)
		}
	}
	return sexp{atom: s, str: true}, nil
}
