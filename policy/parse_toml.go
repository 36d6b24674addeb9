package policy

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Source is one policy file, already read.
type Source struct {
	Layer Layer
	// Name is the file as the user would type it; it stands in errors and origins.
	Name string
	Data []byte
	// Base is the absolute directory that relative entries join.
	Base string
}

// ParseTOML reads one policy file, strictly: an unknown key, another spelling of
// a key, a wrong type, an empty entry and an entry that could never match are
// each a *PositionError. The same text gives the same result every time.
//
// The result is that file alone: no built-in default, and what extends names is
// checked but not added. Load puts layers together.
func ParseTOML(src Source, v Vars) (Policy, error) {
	doc, err := parseTOML(src, v)
	if err != nil {
		return Policy{}, err
	}
	return doc.standalone(), nil
}

func parseTOML(src Source, v Vars) (document, error) {
	root, err := tomlTree(src)
	if err != nil {
		return document{}, err
	}
	return readDocument(src, v, root, tomlKeys, nil)
}

func tomlTree(src Source) (node, error) {
	if len(src.Data) > maxPolicyBytes {
		return node{}, tooLarge(src)
	}
	text := string(src.Data)
	lines, faultLine, err := indexTOML(text)
	if err != nil {
		return node{}, &PositionError{File: src.Name, Line: faultLine, Msg: err.Error()}
	}
	// A map, not a struct: into a struct the library matches names in any case,
	// and of two that match a random one wins.
	tree := map[string]any{}
	if _, err := toml.Decode(text, &tree); err != nil {
		return node{}, tomlFault(src, err)
	}
	return tomlNode(tree, "", 1, lines), nil
}

func tooLarge(src Source) error {
	return &PositionError{File: src.Name, Msg: "larger than 1 MiB, which no policy needs"}
}

func tomlFault(src Source, err error) error {
	fault := &PositionError{File: src.Name, Msg: oneLine(strings.TrimPrefix(err.Error(), "toml: "))}
	if parse := (toml.ParseError{}); errors.As(err, &parse) {
		fault.Line, fault.Msg = parse.Position.Line, oneLine(parse.Message)
	}
	return fault
}

// tomlNode turns a decoded value into a node, with fields in order of writing.
func tomlNode(value any, at string, line int, lines map[string]int) node {
	if own, ok := lines[at]; ok {
		line = own
	}
	n := node{line: line, kind: nodeOther}
	switch value := value.(type) {
	case string:
		n.kind, n.text = nodeText, value
	case bool:
		n.kind, n.flag = nodeBool, value
	case int64:
		n.kind, n.text = nodeNumber, strconv.FormatInt(value, 10)
	case float64:
		n.kind = nodeNumber
	case []any:
		n.kind = nodeList
		for i, item := range value {
			n.items = append(n.items, tomlNode(item, itemPath(at, i), line, lines))
		}
	case []map[string]any:
		n.kind = nodeList
		for i, item := range value {
			n.items = append(n.items, tomlNode(item, itemPath(at, i), line, lines))
		}
	case map[string]any:
		n.kind = nodeTable
		for key, item := range value {
			child := key
			if at != "" {
				child = keyPath(at, key)
			}
			n.fields = append(n.fields, field{key, tomlNode(item, child, line, lines)})
		}
		slices.SortFunc(n.fields, func(a, b field) int {
			return cmp.Or(cmp.Compare(a.line, b.line), strings.Compare(a.key, b.key))
		})
	}
	return n
}
