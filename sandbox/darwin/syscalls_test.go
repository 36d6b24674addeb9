package darwin

import (
	"fmt"
	"strings"
)

// The evaluator, part five: system calls, mapped to operations and applied when
// every one is allowed.

// Errors that a call answers with.
const (
	ok      = ""
	eperm   = "EPERM"
	enoent  = "ENOENT"
	eexist  = "EEXIST"
	einval  = "EINVAL"
	refused = "ECONNREFUSED"
)

// check asks the profile; without one, everything is allowed.
func (m *fakeMac) check(qs ...request) bool {
	for _, q := range qs {
		if m.profile != nil && !m.profile.decide(q).allow {
			m.denied = append(m.denied, q)
			return false
		}
	}
	return true
}

func on(op string, l looked) request {
	q := request{op: op, path: l.path()}
	if l.node != nil {
		q.vnode = l.node.kind
	}
	return q
}

// making is the creation of a node of some kind: the type counts.
func making(l looked, kind string) request {
	return request{op: "file-write-create", path: l.path(), vnode: kind}
}

func (m *fakeMac) existing(p string, follow bool) (looked, string) {
	m.blocked = false
	l, found := m.lookup(p, follow)
	switch {
	case m.blocked:
		return l, eperm
	case !found || l.node == nil:
		return l, enoent
	}
	return l, ok
}

func (m *fakeMac) read(p string) (string, string) {
	l, e := m.existing(p, true)
	switch {
	case e != ok:
		return "", e
	case !m.check(on("file-read-data", l)):
		return "", eperm
	case l.node.kind == "DIRECTORY":
		var names []string
		for _, c := range l.node.children {
			names = append(names, c.name)
		}
		return strings.Join(sorted(names), " "), ok
	case l.node.data == nil:
		return "", einval
	}
	return *l.node.data, ok
}

func (m *fakeMac) stat(p string, follow bool) string {
	l, e := m.existing(p, follow)
	switch {
	case e != ok:
		return e
	case !m.check(on("file-read-metadata", l)):
		return eperm
	}
	return ok
}

// write opens for writing, creating what is not there, and stores data.
func (m *fakeMac) write(p, data string) string {
	l, found := m.lookup(p, true)
	switch {
	case !found:
		return enoent
	case l.node == nil:
		if !m.check(making(l, "REGULAR-FILE")) {
			return eperm
		}
		m.attach(l.parent, l.name, &vnode{kind: "REGULAR-FILE", data: &data})
		return ok
	case l.node.data == nil:
		return einval
	case !m.check(on("file-write-data", l)):
		return eperm
	}
	*l.node.data = data
	return ok
}

func (m *fakeMac) create(p string, n *vnode) string {
	l, found := m.lookup(p, false)
	switch {
	case !found:
		return enoent
	case l.node != nil:
		return eexist
	case !m.check(making(l, n.kind)):
		return eperm
	}
	m.attach(l.parent, l.name, n)
	return ok
}

func (m *fakeMac) mkdir(p string) string { return m.create(p, &vnode{kind: "DIRECTORY"}) }
func (m *fakeMac) symlink(target, p string) string {
	return m.create(p, &vnode{kind: "SYMLINK", target: target})
}

func (m *fakeMac) remove(p string) string {
	l, e := m.existing(p, false)
	switch {
	case e != ok:
		return e
	case l.node.parent == nil || len(l.node.children) > 0:
		return einval
	case !m.check(on("file-write-unlink", l)):
		return eperm
	}
	m.detach(l.node)
	return ok
}

// rename judges the moved node alone, not what lies beneath it.
func (m *fakeMac) rename(from, to string) string {
	src, e := m.existing(from, false)
	dst, found := m.lookup(to, false)
	switch {
	case e != ok:
		return e
	case !found:
		return enoent
	case src.node.parent == nil || inside(dst.parent, src.node):
		return einval
	case dst.node == src.node: // another case of its own name
		dst = looked{parent: src.parent, name: lastName(to)}
	case dst.node != nil && (dst.node.kind == "DIRECTORY" != (src.node.kind == "DIRECTORY") || len(dst.node.children) > 0):
		return eexist
	}
	if !m.check(on("file-write-unlink", src), making(dst, src.node.kind)) {
		return eperm
	}
	if dst.node != nil {
		if !m.check(on("file-write-unlink", dst)) {
			return eperm
		}
		m.detach(dst.node)
	}
	m.detach(src.node)
	name := dst.name
	if dst.node == nil {
		name = lastName(to)
	}
	m.attach(dst.parent, name, src.node)
	return ok
}

func lastName(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }

func inside(n, dir *vnode) bool {
	for ; n != nil; n = n.parent {
		if n == dir {
			return true
		}
	}
	return false
}

// swap is renamex_np(RENAME_SWAP).
func (m *fakeMac) swap(a, b string) string {
	x, e1 := m.existing(a, false)
	y, e2 := m.existing(b, false)
	switch {
	case e1 != ok || e2 != ok:
		return enoent
	case x.node == y.node || inside(x.node, y.node) || inside(y.node, x.node) || x.node.parent == nil || y.node.parent == nil:
		return einval
	case !m.check(on("file-write-unlink", x), making(y, x.node.kind), on("file-write-unlink", y), making(x, y.node.kind)):
		return eperm
	}
	xp, yp, xn, yn := x.node.parent, y.node.parent, x.node.name, y.node.name
	m.detach(x.node)
	m.detach(y.node)
	m.attach(yp, yn, x.node)
	m.attach(xp, xn, y.node)
	return ok
}

func (m *fakeMac) link(from, to string) string {
	src, e := m.existing(from, true)
	dst, found := m.lookup(to, false)
	switch {
	case e != ok || !found:
		return enoent
	case dst.node != nil:
		return eexist
	case src.node.kind == "DIRECTORY":
		return eperm
	case !m.check(on("file-link", src), making(dst, src.node.kind)):
		return eperm
	}
	m.attach(dst.parent, dst.name, &vnode{kind: src.node.kind, data: src.node.data, target: src.node.target})
	return ok
}

// clone is clonefile(2): of a directory, with all beneath it. The filter sees
// the source's own path.
func (m *fakeMac) clone(from, to string) string {
	src, e := m.existing(from, true)
	dst, found := m.lookup(to, false)
	switch {
	case e != ok || !found:
		return enoent
	case dst.node != nil:
		return eexist
	case inside(dst.parent, src.node):
		return einval
	case !m.check(on("file-clone", src), making(dst, src.node.kind)):
		return eperm
	}
	m.attach(dst.parent, dst.name, copyNode(src.node))
	return ok
}

func copyNode(n *vnode) *vnode {
	c := &vnode{kind: n.kind, target: n.target}
	if n.data != nil {
		data := *n.data
		c.data = &data
	}
	if n.kind == "DIRECTORY" {
		c.children = map[string]*vnode{}
		for k, child := range n.children {
			cc := copyNode(child)
			cc.name, cc.parent = child.name, c
			c.children[k] = cc
		}
	}
	return c
}

// change is one of the calls that alter a node's attributes.
func (m *fakeMac) change(op, p string) string {
	l, e := m.existing(p, true)
	switch {
	case e != ok:
		return e
	case !m.check(on(op, l)):
		return eperm
	}
	return ok
}

// exec needs the program and, for the loader, the root directory.
func (m *fakeMac) exec(p string) string {
	l, e := m.existing(p, true)
	switch {
	case e != ok:
		return e
	case !m.check(on("process-exec", l)):
		return eperm
	case !m.check(request{op: "file-read-data", path: "/", vnode: "DIRECTORY"}):
		return "SIGABRT"
	}
	return ok
}

// dlopen is judged under the spelling that was asked for and the resolved one.
func (m *fakeMac) dlopen(p string) string {
	l, e := m.existing(p, true)
	raw := request{op: "file-read-data", path: p, vnode: "REGULAR-FILE"}
	switch {
	case e != ok:
		return e
	case !m.check(raw, on("file-read-data", l), on("file-map-executable", l)):
		return eperm
	}
	return ok
}

func (m *fakeMac) mount(p string) string {
	l, e := m.existing(p, true)
	switch {
	case e != ok:
		return e
	case !m.check(on("file-mount", l)):
		return eperm
	}
	return ok
}

func (m *fakeMac) connectTCP(host string, port int) string {
	q := request{op: "network-outbound", proto: "tcp", host: host, port: port}
	switch {
	case !m.check(q):
		return eperm
	case !m.listening[port]:
		return refused
	}
	return ok
}

func (m *fakeMac) sendUDP(host string, port int) string {
	if !m.check(request{op: "network-outbound", proto: "udp", host: host, port: port}) {
		return eperm
	}
	return ok
}

// listenTCP binds and listens; the address 0.0.0.0 is no local one for a filter.
func (m *fakeMac) listenTCP(host string, port int) string {
	bind := request{op: "network-bind", proto: "tcp", host: host, port: port}
	accept := bind
	accept.op = "network-inbound"
	if !m.check(bind, accept) {
		return eperm
	}
	return ok
}

// connectUnix is judged as network-outbound with the socket's resolved path.
func (m *fakeMac) connectUnix(p string) string {
	l, e := m.existing(p, true)
	q := on("network-outbound", l)
	switch {
	case e != ok:
		return e
	case l.node.kind != "SOCKET":
		return refused
	case !m.check(request{op: "system-socket", domain: "AF_UNIX"}, q):
		return eperm
	}
	return ok
}

func (m *fakeMac) listenUnix(p string) string {
	l, found := m.lookup(p, false)
	switch {
	case !found:
		return enoent
	case l.node != nil:
		return eexist
	}
	bind := request{op: "network-bind", path: l.path(), vnode: "SOCKET"}
	accept := bind
	accept.op = "network-inbound"
	if !m.check(request{op: "system-socket", domain: "AF_UNIX"}, bind, making(l, "SOCKET"), accept) {
		return eperm
	}
	m.attach(l.parent, l.name, &vnode{kind: "SOCKET"})
	return ok
}

// run does one step of a probe or script: a verb and its words.
func (m *fakeMac) run(step string) string {
	w := strings.Fields(step)
	arg := func(i int) string {
		if i < len(w) {
			return w[i]
		}
		return ""
	}
	var port int
	if len(w) > 2 {
		fmt.Sscan(w[2], &port)
	}
	switch w[0] {
	case "read":
		_, e := m.read(arg(1))
		return e
	case "stat":
		return m.stat(arg(1), true)
	case "lstat":
		return m.stat(arg(1), false)
	case "write":
		return m.write(arg(1), "written")
	case "mkdir":
		return m.mkdir(arg(1))
	case "symlink":
		return m.symlink(arg(1), arg(2))
	case "copy":
		data, e := m.read(arg(1))
		if e != ok {
			return e
		}
		return m.write(arg(2), data)
	case "remove":
		return m.remove(arg(1))
	case "rename":
		return m.rename(arg(1), arg(2))
	case "swap":
		return m.swap(arg(1), arg(2))
	case "link":
		return m.link(arg(1), arg(2))
	case "clone":
		return m.clone(arg(1), arg(2))
	case "chmod":
		return m.change("file-write-mode", arg(1))
	case "setxattr":
		return m.change("file-write-xattr", arg(1))
	case "acl":
		return m.change("file-write-acl", arg(1))
	case "exec":
		return m.exec(arg(1))
	case "dlopen":
		return m.dlopen(arg(1))
	case "mount":
		return m.mount(arg(1))
	case "tcp":
		return m.connectTCP(arg(1), port)
	case "udp":
		return m.sendUDP(arg(1), port)
	case "listen":
		return m.listenTCP(arg(1), port)
	case "unix":
		return m.connectUnix(arg(1))
	case "listenunix":
		return m.listenUnix(arg(1))
	case "mach":
		return m.simple(request{op: "mach-lookup", name: arg(1)})
	case "sysctl":
		return m.simple(request{op: "sysctl-read", name: arg(1)})
	}
	panic("unknown verb: " + step)
}

func (m *fakeMac) simple(q request) string {
	if !m.check(q) {
		return eperm
	}
	return ok
}
