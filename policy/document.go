package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// document is one parsed layer. The lists are in policy; settings that are not
// lists are kept apart, because a layer that does not mention one must not reset it.
type document struct {
	policy   Policy
	settings []setting
	// extends holds the preset names; nil when the file does not say.
	extends []EnvRule
	info    LayerInfo
	// closed drops the grants of the built-in default: srt's settings are complete.
	closed bool
}

// setting is one value that is not a list.
type setting struct {
	key, text string
	origin    Origin
	// tightens says that the value allows no more than any other value would.
	tightens bool
	apply    func(*Policy)
	// same says that the policy has the value already.
	same func(*Policy) bool
}

// standalone is the document as a policy of its own.
func (d document) standalone() Policy {
	p := d.policy
	for _, s := range d.settings {
		s.apply(&p)
	}
	p.Layers = []LayerInfo{d.info}
	return p
}

// keyRow is one key that a file may hold.
type keyRow struct {
	section, key string // section is empty at the top
	read         func(r *reader, key string, n node) error
}

// reader fills a document from a tree.
type reader struct {
	src  Source
	vars Vars
	doc  document
	// path reads one entry of a path list.
	path func(text string) (PathRule, error)
	// reasons are the deniedDomainReasons, joined to their entries at the end.
	reasons []reasonRow
}

type reasonRow struct {
	host, reason string
	line         int
}

func readDocument(src Source, v Vars, root node, keys []keyRow, path func(string) (PathRule, error)) (document, error) {
	r := &reader{src: src, vars: v, path: path}
	if path == nil {
		r.path = func(text string) (PathRule, error) { return expandPath(text, src.Base, v) }
	}
	sum := sha256.Sum256(src.Data)
	r.doc.info = LayerInfo{Layer: src.Layer, Name: src.Name, Digest: hex.EncodeToString(sum[:])}
	if err := r.root(root, keys); err != nil {
		return document{}, err
	}
	return r.doc, r.joinReasons()
}

func (r *reader) root(root node, keys []keyRow) error {
	for _, f := range root.fields {
		row, section := findKey(keys, "", f.key), hasSection(keys, f.key)
		var err error
		switch {
		case section && f.kind == nodeTable:
			err = r.section(f, keys)
		case section:
			err = r.wrongType(f.node, f.key, nodeTable)
		case row != nil:
			err = row.read(r, f.key, f.node)
		default:
			err = r.unknownKey(f, "", keys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) section(section field, keys []keyRow) error {
	for _, f := range section.fields {
		row := findKey(keys, section.key, f.key)
		if row == nil {
			return r.unknownKey(f, section.key, keys)
		}
		if err := row.read(r, section.key+"."+f.key, f.node); err != nil {
			return err
		}
	}
	return nil
}

func findKey(keys []keyRow, section, key string) *keyRow {
	i := slices.IndexFunc(keys, func(row keyRow) bool { return row.section == section && row.key == key })
	if i < 0 {
		return nil
	}
	return &keys[i]
}

func hasSection(keys []keyRow, name string) bool {
	return name != "" && slices.ContainsFunc(keys, func(row keyRow) bool { return row.section == name })
}

// unknownKey names the nearest key of the section, or the section where the key
// belongs.
func (r *reader) unknownKey(f field, section string, keys []keyRow) error {
	var here, elsewhere []string
	for _, row := range keys {
		if row.section == section {
			here = append(here, row.key)
		} else if row.key == f.key {
			elsewhere = append(elsewhere, row.key+" in ["+row.section+"]")
		}
		if section == "" && row.section != "" && !slices.Contains(here, row.section) {
			here = append(here, row.section)
		}
	}
	where := "at the top of the file"
	if section != "" {
		where = "in [" + section + "]"
	}
	err := r.fault(f.node, "", "unknown key %s %s", quoteCut(f.key), where)
	err.Key = ""
	err.Suggestion = nearest(f.key, here)
	if len(elsewhere) > 0 {
		err.Suggestion = elsewhere[0]
	}
	return err
}

func (r *reader) fault(n node, key, format string, args ...any) *PositionError {
	return &PositionError{File: r.src.Name, Line: n.line, Key: key, Msg: fmt.Sprintf(format, args...)}
}

func (r *reader) wrongType(n node, key string, want nodeKind) error {
	return r.fault(n, key, "%s, where %s belongs", n.kind, want)
}

func (r *reader) origin(n node) Origin {
	return Origin{Layer: r.src.Layer, Name: r.src.Name, Line: n.line}
}

// texts reads a list of strings, none of them empty.
func (r *reader) texts(key string, n node) ([]node, error) {
	if n.kind != nodeList {
		return nil, r.wrongType(n, key, "a list of strings")
	}
	for _, item := range n.items {
		if _, err := r.text(key, item); err != nil {
			return nil, err
		}
	}
	return n.items, nil
}

func (r *reader) text(key string, n node) (string, error) {
	if n.kind != nodeText {
		return "", r.wrongType(n, key, nodeText)
	}
	if strings.TrimSpace(n.text) == "" {
		return "", r.fault(n, key, "an empty entry")
	}
	return n.text, nil
}

// joinReasons puts each deniedDomainReasons row on the entry it is about.
func (r *reader) joinReasons() error {
	denied := r.doc.policy.Network.Denied
	for _, row := range r.reasons {
		found := false
		var texts []string
		for i := range denied {
			texts = append(texts, denied[i].Text)
			if denied[i].Text == row.host {
				denied[i].Reason, found = row.reason, true
			}
		}
		if !found {
			err := r.fault(node{line: row.line}, "network.deniedDomainReasons", "%s is not an entry of deniedDomains", quoteCut(row.host))
			err.Suggestion = nearest(row.host, texts)
			return err
		}
	}
	return nil
}

// oneLine makes text from outside printable, on one line.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			return '?'
		}
		return r
	}, text)
}
