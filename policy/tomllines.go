package policy

import (
	"errors"
	"strconv"
	"strings"
)

// tomlLines finds the line of every key and list entry of a TOML text, which
// the TOML library does not tell. It accepts more than TOML: the library judges
// the text, and up to its first fault both read it alike.
//
// Two things are refused here: nesting that no policy needs, and escapes in
// keys, which would be a second spelling of a name.
type tomlLines struct {
	text  string
	pos   int
	depth int
	lines map[string]int // by keyPath
	// counted is how far newlines were counted, seen how many there were.
	counted, seen int
}

// keyPath joins the names that lead to a value. TOML has no NUL outside of escapes.
func keyPath(names ...string) string { return strings.Join(names, "\x00") }

func itemPath(list string, i int) string { return keyPath(list, "#"+strconv.Itoa(i)) }

var (
	errNesting   = errors.New("nested too deeply for a policy")
	errKeyEscape = errors.New("a key is written plainly, without escapes")
)

// indexTOML returns the lines by keyPath, or the line of a fault.
func indexTOML(text string) (lines map[string]int, faultLine int, err error) {
	s := &tomlLines{text: text, lines: map[string]int{}}
	err = s.statements()
	return s.lines, s.line(), err
}

func (s *tomlLines) line() int {
	pos := min(s.pos, len(s.text))
	s.seen += strings.Count(s.text[s.counted:pos], "\n")
	s.counted = pos
	return s.seen + 1
}

func (s *tomlLines) statements() error {
	table := ""
	for s.blank(); s.pos < len(s.text); s.blank() {
		start := s.pos
		if s.text[s.pos] == '[' {
			key, err := s.header()
			if err != nil {
				return err
			}
			table = key
		} else if err := s.pair(table); err != nil {
			return err
		}
		if s.pos == start { // not TOML; the library will say so
			return nil
		}
	}
	return nil
}

// header reads "[a.b]" or "[[a.b]]".
func (s *tomlLines) header() (string, error) {
	s.pos += len(s.text[s.pos:]) - len(strings.TrimLeft(s.text[s.pos:], "["))
	key, err := s.key("", "]")
	s.note(key)
	s.skip("]")
	return key, err
}

func (s *tomlLines) pair(table string) error {
	key, err := s.key(table, "=")
	if err != nil {
		return err
	}
	s.note(key)
	s.skip("=")
	return s.value(key)
}

func (s *tomlLines) note(key string) {
	if _, known := s.lines[key]; !known {
		s.lines[key] = s.line()
	}
}

// key reads a dotted key below table up to, not including, end.
func (s *tomlLines) key(table, end string) (string, error) {
	names := []string{}
	if table != "" {
		names = append(names, table)
	}
	for s.pos < len(s.text) {
		s.skip(" \t.")
		if len(names) > maxNesting {
			return "", errNesting
		}
		switch c := s.peek(); {
		case c == 0 || c == '\n' || strings.IndexByte(end, c) >= 0:
			return keyPath(names...), nil
		case c == '"' || c == '\'':
			name, err := s.quotedKey(c)
			if err != nil {
				return "", err
			}
			names = append(names, name)
		default:
			names = append(names, s.until(" \t.\n\"'"+end))
		}
	}
	return keyPath(names...), nil
}

func (s *tomlLines) quotedKey(quote byte) (string, error) {
	s.pos++
	name := s.until(string(quote) + "\n")
	s.skipOne(quote)
	if quote == '"' && strings.Contains(name, `\`) {
		return "", errKeyEscape
	}
	return name, nil
}

func (s *tomlLines) value(key string) error {
	s.depth++
	defer func() { s.depth-- }()
	if s.depth > maxNesting {
		return errNesting
	}
	s.skip(" \t")
	switch s.peek() {
	case '"', '\'':
		s.stringValue()
	case '[':
		return s.list(key)
	case '{':
		return s.inlineTable(key)
	default:
		s.until(",]}#\n")
	}
	return nil
}

func (s *tomlLines) list(key string) error {
	s.pos++
	for i := 0; ; i++ {
		s.blank()
		if s.pos == len(s.text) || s.skipOne(']') {
			return nil
		}
		start := s.pos
		s.note(itemPath(key, i))
		if err := s.value(itemPath(key, i)); err != nil {
			return err
		}
		s.blank()
		s.skipOne(',')
		if s.pos == start {
			return nil
		}
	}
}

func (s *tomlLines) inlineTable(key string) error {
	s.pos++
	for {
		s.blank()
		if s.pos == len(s.text) || s.skipOne('}') {
			return nil
		}
		start := s.pos
		if err := s.pair(key); err != nil {
			return err
		}
		s.blank()
		s.skipOne(',')
		if s.pos == start {
			return nil
		}
	}
}

// stringValue passes over a string of any of the four kinds.
func (s *tomlLines) stringValue() {
	quote := s.text[s.pos : s.pos+1]
	end := quote
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.text[s.pos:], triple) {
		end = triple
	}
	s.pos += len(end)
	for s.pos < len(s.text) {
		switch {
		case strings.HasPrefix(s.text[s.pos:], end):
			s.pos += len(end)
			for extra := 0; len(end) == 3 && extra < 2 && s.skipOne(quote[0]); extra++ {
				// up to two more quotes belong to the text
			}
			return
		case len(end) == 1 && s.text[s.pos] == '\n':
			return
		case quote == `"` && s.text[s.pos] == '\\':
			s.pos++
		}
		s.pos++
	}
	s.pos = len(s.text)
}

// blank passes over spaces, line ends and comments.
func (s *tomlLines) blank() {
	for {
		s.skip(" \t\r\n")
		if s.peek() != '#' {
			return
		}
		s.until("\n")
	}
}

func (s *tomlLines) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *tomlLines) skip(set string) {
	for s.pos < len(s.text) && strings.IndexByte(set, s.text[s.pos]) >= 0 {
		s.pos++
	}
}

func (s *tomlLines) skipOne(c byte) bool {
	if s.pos < len(s.text) && s.text[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// until returns the text up to the first byte of set and passes over it.
func (s *tomlLines) until(set string) string {
	start := s.pos
	for s.pos < len(s.text) && strings.IndexByte(set, s.text[s.pos]) < 0 {
		s.pos++
	}
	return s.text[start:s.pos]
}
