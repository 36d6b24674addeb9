// Package policytest holds what tests of several packages need to compile a
// policy without a machine: a file tree in memory and the compile cases.
package policytest

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gosrt/gosrt/policy"
)

// Tree is a host's file system in memory. The zero Tree is not usable; see New.
type Tree struct {
	nodes map[string]node
	next  uint64

	asked atomic.Int64
}

// Asked is how many calls were answered, for tests of what a start costs.
func (t *Tree) Asked() int { return int(t.asked.Load()) }

type node struct {
	info policy.FileInfo
	text string // a file's content, a link's target
}

var _ policy.FS = (*Tree)(nil)

// New builds a tree from lines, parents made as needed:
//
//	/dir/                 a directory
//	/dir/blind/ !         a directory that cannot be listed or searched
//	/dir/file             an empty file
//	/dir/file = text      a file with a line of text
//	/dir/link -> target   a symbolic link
//	/dir/socket |         a socket
//
// Names may hold Go escapes (\n, \xff); spaces in them are written \x20.
func New(lines string) (*Tree, error) {
	t := &Tree{nodes: map[string]node{}}
	t.put("/", fs.ModeDir|0o755, "")
	for line := range strings.SplitSeq(lines, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := t.line(line); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// MustNew is New for trees written in a test.
func MustNew(lines string) *Tree {
	t, err := New(lines)
	if err != nil {
		panic(err)
	}
	return t
}

func (t *Tree) line(line string) error {
	name, rest, _ := strings.Cut(line, " ")
	name, err := unquote(name)
	if err != nil || !strings.HasPrefix(name, "/") {
		return fmt.Errorf("tree line %q: want an absolute path", line)
	}
	switch {
	case strings.HasPrefix(rest, "-> "):
		target, err := unquote(rest[3:])
		if err != nil {
			return err
		}
		t.put(name, fs.ModeSymlink|0o777, target)
	case strings.HasPrefix(rest, "= "):
		t.put(name, 0o644, rest[2:]+"\n")
	case rest == "!":
		t.put(strings.TrimSuffix(name, "/"), fs.ModeDir, "")
	case rest == "|":
		t.put(name, fs.ModeSocket|0o755, "")
	case rest != "":
		return fmt.Errorf("tree line %q: unknown kind", line)
	case strings.HasSuffix(name, "/"):
		t.put(strings.TrimSuffix(name, "/"), fs.ModeDir|0o755, "")
	default:
		t.put(name, 0o644, "")
	}
	return nil
}

func unquote(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var out string
	if _, err := fmt.Sscanf(`"`+s+`"`, "%q", &out); err != nil {
		return "", fmt.Errorf("tree name %q: %w", s, err)
	}
	return out, nil
}

func (t *Tree) put(name string, mode fs.FileMode, text string) {
	if name == "" {
		name = "/"
	}
	if dir := path.Dir(name); name != "/" {
		if _, ok := t.nodes[dir]; !ok {
			t.put(dir, fs.ModeDir|0o755, "")
		}
	}
	t.next++
	size := int64(len(text))
	if mode.IsDir() {
		size = 4096
	}
	t.nodes[name] = node{policy.FileInfo{Mode: mode, Dev: 1, Ino: t.next, Nlink: 1, Size: size}, text}
}

// Paths lists every path of the tree, sorted.
func (t *Tree) Paths() []string { return slices.Sorted(maps.Keys(t.nodes)) }

// find follows the links of the parents, as lstat does.
func (t *Tree) find(name string) (string, node, error) {
	t.asked.Add(1)
	at := "/"
	todo := strings.Split(strings.TrimPrefix(name, "/"), "/")
	for hops := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		if part == "" || part == "." {
			continue
		}
		dir := t.nodes[at]
		switch {
		case !dir.info.Mode.IsDir():
			return "", node{}, fmt.Errorf("lstat %q: %w", name, fs.ErrNotExist)
		case dir.info.Mode.Perm()&0o111 == 0:
			return "", node{}, fmt.Errorf("lstat %q: %w", name, fs.ErrPermission)
		}
		next := path.Join(at, part)
		n, ok := t.nodes[next]
		if !ok {
			return "", node{}, fmt.Errorf("lstat %q: %w", name, fs.ErrNotExist)
		}
		if n.info.Mode&fs.ModeSymlink != 0 && len(todo) > 0 {
			if hops++; hops > 40 {
				return "", node{}, fmt.Errorf("lstat %q: too many links", name)
			}
			todo = append(strings.Split(strings.Trim(n.text, "/"), "/"), todo...)
			if path.IsAbs(n.text) {
				next = "/"
			} else {
				next = at
			}
		}
		at = next
	}
	return at, t.nodes[at], nil
}

// Lstat is part of policy.FS.
func (t *Tree) Lstat(name string) (policy.FileInfo, error) {
	_, n, err := t.find(name)
	return n.info, err
}

// Readlink is part of policy.FS.
func (t *Tree) Readlink(name string) (string, error) {
	_, n, err := t.find(name)
	if err == nil && n.info.Mode&fs.ModeSymlink == 0 {
		err = fmt.Errorf("readlink %q: not a link", name)
	}
	return n.text, err
}

// ReadFile is part of policy.FS.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	_, n, err := t.find(name)
	if err == nil && !n.info.Mode.IsRegular() {
		err = fmt.Errorf("read %q: not a file", name)
	}
	return []byte(n.text), err
}

// ReadDir is part of policy.FS.
func (t *Tree) ReadDir(name string) ([]policy.DirEntry, error) {
	at, n, err := t.find(name + "/.") // opendir follows a link at the end
	switch {
	case err != nil:
		return nil, err
	case !n.info.Mode.IsDir():
		return nil, fmt.Errorf("readdir %q: %w", name, fs.ErrInvalid)
	case n.info.Mode.Perm()&0o444 == 0:
		return nil, fmt.Errorf("readdir %q: %w", name, fs.ErrPermission)
	}
	var entries []policy.DirEntry
	for p, child := range t.nodes {
		if p != "/" && path.Dir(p) == at {
			entries = append(entries, policy.DirEntry{Name: path.Base(p), Type: child.info.Mode.Type()})
		}
	}
	return entries, nil
}
