package darwin

import (
	"path"
	"strings"
)

// The evaluator, part four: a file system as macOS has it. Names are found in
// any case, the disk's spelling is kept, a new name keeps the case it was typed
// in, and firmlinks lead from the data volume into the root.

type vnode struct {
	kind     string // a vnode type of the profile language
	name     string // as on disk
	parent   *vnode
	children map[string]*vnode // by folded name
	target   string            // of a SYMLINK
	data     *string           // of a REGULAR-FILE; hard links share it
}

type fakeMac struct {
	root      *vnode
	sensitive bool // names are told apart by case
	profile   *sandboxProfile
	denied    []request
	listening map[int]bool // TCP ports of the host's loopback
	blocked   bool         // the last lookup met a link that may not be read
}

func newMac() *fakeMac {
	m := &fakeMac{root: &vnode{kind: "DIRECTORY", children: map[string]*vnode{}}, listening: map[int]bool{}}
	m.mkdirAll("/System/Volumes/Data")
	m.mkdirAll("/private/tmp")
	m.mkdirAll("/private/var/folders")
	m.mkdirAll("/private/etc")
	m.mkdirAll("/usr/lib")
	m.mkdirAll("/Users")
	for _, dir := range []string{"/Users", "/private"} {
		m.firmlink(dir)
	}
	for _, l := range []string{"tmp", "var", "etc"} {
		m.add("/"+l, &vnode{kind: "SYMLINK", target: "private/" + l})
	}
	m.mkdirAll("/dev")
	for _, d := range []string{"null", "zero", "tty", "ttys001", "ttys002", "disk0"} {
		m.add("/dev/"+d, &vnode{kind: "CHARACTER-DEVICE", data: new(string)})
	}
	m.put("/usr/lib/dyld", "loader")
	m.mkdirAll("/private/var/run")
	m.add("/private/var/run/mDNSResponder", &vnode{kind: "SOCKET"})
	return m
}

// firmlink makes /System/Volumes/Data/X the same directory as /X.
func (m *fakeMac) firmlink(dir string) {
	near, _ := m.find(dir, true)
	far, _ := m.find(dataVolume, true)
	far.children[m.fold(path.Base(dir))] = near
}

func (m *fakeMac) fold(name string) string {
	if m.sensitive {
		return name
	}
	return strings.ToLower(name)
}

// path is what the kernel reports for a node.
func (n *vnode) path() string {
	if n.parent == nil {
		return "/"
	}
	return strings.TrimSuffix(n.parent.path(), "/") + "/" + n.name
}

// looked is the result of a lookup: the node, or where it would be made.
type looked struct {
	node   *vnode
	parent *vnode
	name   string // as typed
}

func (l looked) path() string {
	if l.node != nil {
		return l.node.path()
	}
	return strings.TrimSuffix(l.parent.path(), "/") + "/" + l.name
}

// lookup walks a path; follow says whether a link at its end is followed. ok is
// false when a directory on the way is missing.
func (m *fakeMac) lookup(p string, follow bool) (looked, bool) {
	return m.walk(m.root, strings.Split(p, "/"), follow, 0)
}

func (m *fakeMac) walk(at *vnode, names []string, follow bool, links int) (looked, bool) {
	if links > 32 {
		return looked{}, false
	}
	for i, name := range names {
		rest := names[i+1:]
		switch {
		case at.kind != "DIRECTORY":
			return looked{}, false
		case name == "" || name == ".":
			continue
		case name == "..":
			if at.parent != nil {
				at = at.parent
			}
			continue
		}
		last := strings.Join(rest, "") == ""
		n := at.children[m.fold(name)]
		switch {
		case n == nil && last:
			return looked{parent: at, name: name}, true
		case n == nil:
			return looked{}, false
		case n.kind == "SYMLINK" && (!last || follow):
			if !m.check(on("file-read-metadata", looked{node: n})) {
				m.blocked = true
				return looked{}, false
			}
			from := at
			if strings.HasPrefix(n.target, "/") {
				from = m.root
			}
			return m.walk(from, append(strings.Split(n.target, "/"), rest...), follow, links+1)
		}
		at = n
	}
	return looked{node: at, parent: at.parent, name: at.name}, true
}

func (m *fakeMac) find(p string, follow bool) (*vnode, bool) {
	l, ok := m.lookup(p, follow)
	return l.node, ok && l.node != nil
}

// Making things from outside the sandbox.

func (m *fakeMac) add(p string, n *vnode) *vnode {
	m.mkdirAll(path.Dir(p))
	dir, _ := m.find(path.Dir(p), true)
	return m.attach(dir, path.Base(p), n)
}

func (m *fakeMac) attach(dir *vnode, name string, n *vnode) *vnode {
	n.name, n.parent = name, dir
	if n.kind == "DIRECTORY" && n.children == nil {
		n.children = map[string]*vnode{}
	}
	dir.children[m.fold(name)] = n
	return n
}

func (m *fakeMac) detach(n *vnode) { delete(n.parent.children, m.fold(n.name)) }

func (m *fakeMac) mkdirAll(p string) {
	at := m.root
	for _, name := range strings.Split(strings.Trim(p, "/"), "/") {
		if name == "" {
			continue
		}
		next := at.children[m.fold(name)]
		if next == nil {
			next = m.attach(at, name, &vnode{kind: "DIRECTORY"})
		}
		if next.kind == "SYMLINK" {
			next, _ = m.find(path.Join(at.path(), next.target), true)
		}
		at = next
	}
}

func (m *fakeMac) put(p, data string) {
	m.add(p, &vnode{kind: "REGULAR-FILE", data: &data})
}

// each visits every node once, by its own path.
func (m *fakeMac) each(f func(p string, n *vnode)) {
	var visit func(n *vnode)
	visit = func(n *vnode) {
		f(n.path(), n)
		for _, c := range n.children {
			if c.parent == n { // not through a firmlink
				visit(c)
			}
		}
	}
	visit(m.root)
}
