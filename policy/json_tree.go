package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// jsonTree reads srt's settings as a tree. Stricter than encoding/json: a key
// that stands twice, broken UTF-8 and lone surrogates are errors, because two
// programs would read them differently.
func jsonTree(src Source) (node, error) {
	if len(src.Data) > maxPolicyBytes {
		return node{}, tooLarge(src)
	}
	t := &jsonReader{dec: json.NewDecoder(bytes.NewReader(src.Data)), text: string(src.Data)}
	t.dec.UseNumber()
	root, err := t.document()
	if err != nil {
		return node{}, &PositionError{File: src.Name, Line: t.line(), Msg: err.Error()}
	}
	return root, nil
}

type jsonReader struct {
	dec   *json.Decoder
	text  string
	depth int
	// counted is how far newlines were counted, seen how many there were.
	counted, seen int
}

// line is where the last token ended; a token holds no line end.
func (t *jsonReader) line() int {
	at := min(int(t.dec.InputOffset()), len(t.text))
	t.seen += strings.Count(t.text[t.counted:at], "\n")
	t.counted = at
	return t.seen + 1
}

func (t *jsonReader) document() (node, error) {
	if strings.TrimSpace(t.text) == "" {
		return node{}, errors.New("empty; a settings file holds at least the network and filesystem lists")
	}
	if !utf8.ValidString(t.text) {
		return node{}, errors.New("not UTF-8")
	}
	root, err := t.value()
	if err != nil {
		return node{}, err
	}
	if root.kind != nodeTable {
		return node{}, fmt.Errorf("%s, where an object belongs", root.kind)
	}
	if _, err := t.dec.Token(); err != io.EOF {
		return node{}, errors.New("text behind the end of the object")
	}
	return root, nil
}

func (t *jsonReader) token() (json.Token, error) {
	token, err := t.dec.Token()
	if err == io.EOF {
		return nil, errors.New("ends too early")
	}
	if text, ok := token.(string); ok && strings.ContainsRune(text, utf8.RuneError) {
		return nil, errors.New("a string holds a lone surrogate or U+FFFD")
	}
	return token, err
}

func (t *jsonReader) value() (node, error) {
	token, err := t.token()
	if err != nil {
		return node{}, err
	}
	n := node{line: t.line()}
	switch token := token.(type) {
	case string:
		n.kind, n.text = nodeText, token
	case bool:
		n.kind, n.flag = nodeBool, token
	case json.Number:
		n.kind, n.text = nodeNumber, token.String()
	case nil:
		n.kind = nodeNull
	case json.Delim:
		return t.container(n, token)
	}
	return n, nil
}

func (t *jsonReader) container(n node, open json.Delim) (node, error) {
	t.depth++
	defer func() { t.depth-- }()
	if t.depth > maxNesting {
		return n, errNesting
	}
	if open == '[' {
		return t.list(n)
	}
	return t.object(n)
}

func (t *jsonReader) list(n node) (node, error) {
	n.kind = nodeList
	for t.dec.More() {
		item, err := t.value()
		if err != nil {
			return n, err
		}
		n.items = append(n.items, item)
	}
	_, err := t.token()
	return n, err
}

func (t *jsonReader) object(n node) (node, error) {
	n.kind = nodeTable
	known := map[string]bool{}
	for t.dec.More() {
		token, err := t.token()
		if err != nil {
			return n, err
		}
		key, _ := token.(string)
		if known[key] {
			return n, fmt.Errorf("the key %s stands twice", quoteCut(key))
		}
		known[key] = true
		line := t.line()
		value, err := t.value()
		if err != nil {
			return n, err
		}
		if value.kind != nodeList && value.kind != nodeTable {
			value.line = line
		}
		n.fields = append(n.fields, field{key, value})
	}
	_, err := t.token()
	return n, err
}
