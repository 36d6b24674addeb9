package policy

import (
	"cmp"
	"maps"
	"slices"
)

// The mounts, in the order they are made. A later mount covers an earlier one,
// so the order is the policy:
//
//  1. the whole host, read-only ("/" on itself). Submounts are read-only too.
//  2. every place where the answer changes, shallow before deep, each decided by
//     the one decision table. Since a parent is always mounted before its child,
//     no bind can uncover what a deeper rule hides, and the order of the rules in
//     the policy has no influence.
//  3. before a write root is mounted: pins. A pin is a directory strictly between
//     the write root and a denied place beneath it, bound on itself. The write
//     root then covers it, so no lookup meets it and nothing inside crosses a
//     mount (no EXDEV), but its directory entry is a mount point, and the kernel
//     answers EBUSY to whoever renames or removes it (is_local_mountpoint,
//     fs/namespace.c). Without pins "mv .git x; mkdir .git" rebuilds a protected
//     path without its protection. Where "/" is a write root, its top-level
//     directories take its place (topLevel).
//  4. links that lead to an opened place and lie in a covered directory.
//  5. /proc, with what changes the whole machine read-only again: for a root
//     caller bwrap leaves it writable. Then /dev: a bind of a tree that holds
//     devices makes them unusable (nodev), so it comes after all of those.
//  6. the covers of hidden directories are made read-only, now that the places
//     opened inside them are mounted.

// procReadOnly are places of a fresh /proc that act on the whole machine. The
// kernel looks at the file's owner alone for most of them, not at a capability.
var procReadOnly = []string{"sys", "sysrq-trigger", "irq", "bus", "acpi", "asound", "driver", "dynamic_debug", "fs", "latency_stats", "mtrr", "pressure", "scsi"}

// access is what the command may do at a place.
type access int

const (
	hidden access = iota
	readOnly
	writable
	fresh  // a tree of the run's own
	unseen // below a fresh tree, not opened: nothing to mount
)

// point is a place where a rule applies, and so where access may change.
type point struct {
	path   string
	access access
	info   FileInfo
	rule   *FileRule
	held   bool // by name only: absent, or a link. It holds its ancestors, and is not mounted
	mount  bool // access differs from what is around it
}

// mounter builds the list. It is separate from builder because it only reads.
type mounter struct {
	*builder
	at   map[string]*point
	list []Mount
	late []Mount // remounts, after everything is in place
}

func (b *builder) mounts() []Mount {
	m := &mounter{builder: b}
	points := m.points()
	m.base()
	for _, tree := range []string{"", "/proc", "/dev"} {
		if tree == "/proc" {
			m.symlinks()
		}
		for _, p := range points {
			if tree == ownTree(p.path) {
				m.place(p, points)
			}
		}
	}
	slices.Reverse(m.late)
	return append(m.list, m.late...)
}

// symlinks makes the links again that an opened place was spelled through, where
// a cover hides them: /bin, when "/" is hidden and /bin opened.
func (m *mounter) symlinks() {
	slices.Sort(m.shown)
	for _, link := range slices.Compact(m.shown) {
		if m.around(link).access != hidden {
			continue
		}
		if target, err := m.fs.Readlink(link); err == nil {
			m.add(Mount{Kind: MountSymlink, Source: target, Dest: link, Why: "an opened place is spelled through it"})
		}
	}
}

// ownTree names the tree of the run's own that is mounted after everything else.
func ownTree(p string) string {
	for _, tree := range []string{"/proc", "/dev"} {
		if within(tree, p) {
			return tree
		}
	}
	return ""
}

// points lists the places of rules and of matches, shallow first.
func (m *mounter) points() []*point {
	byPath := map[string]*point{}
	add := func(path string, r *FileRule, mountable bool) {
		if old, known := byPath[path]; known && !old.held {
			return
		}
		byPath[path] = &point{path: path, access: m.access(path), info: m.infos[path], rule: r, held: !mountable}
	}
	roots := m.opened()
	for i := range m.files {
		r := &m.files[i]
		mountable := r.Exists && !r.Link
		if !r.Pattern && r.Path != "/" && (mountable || inRoots(roots, place{Path: r.Path})) {
			add(r.Path, r, mountable)
		}
	}
	for _, f := range m.found {
		add(f.Path, &m.files[f.Rule], true)
	}
	if m.access("/") == writable {
		m.topLevel(byPath)
	}
	points := slices.SortedFunc(maps.Values(byPath), func(a, b *point) int { return shallowFirst(a.path, b.path) })
	m.at = byPath
	m.at["/"] = &point{path: "/", access: m.access("/"), mount: true}
	for _, p := range points {
		p.mount = p.mount || !p.held && p.access != unseen && (p.access == fresh || p.access != m.around(p.path).access)
	}
	return points
}

// opened are all trees in which the command may write: elsewhere nobody can move
// what holds a name.
func (m *mounter) opened() []FileRule {
	var roots []FileRule
	for _, r := range m.files {
		if r.Kind == AllowWrite && !r.Fresh {
			roots = append(roots, r)
		}
	}
	return roots
}

func shallowFirst(a, b string) int {
	return cmp.Or(cmp.Compare(depth(a), depth(b)), cmp.Compare(a, b))
}

// topLevel makes each directory of a writable "/" that holds a place where
// writing ends a write root of its own: pins below "/" itself would not last, as
// bwrap leaves what lies under its root behind (pivot_root). The price is that a
// rename from one top-level directory to another answers EXDEV, and mv copies.
func (m *mounter) topLevel(points map[string]*point) {
	for _, p := range slices.Collect(maps.Values(points)) {
		top := "/" + components(p.path)[0]
		if p.access == writable || p.access == unseen || top == p.path {
			continue
		}
		info, err := m.lstat(top)
		if at, known := points[top]; err == nil && info.Mode.IsDir() && (!known || at.access == writable) {
			points[top] = &point{path: top, access: writable, info: info, rule: m.ruleAt("/"), mount: true}
		}
	}
}

// access asks the decision table.
func (m *mounter) access(path string) access {
	hits := m.index.covering(path)
	if own, ok := private(hits); ok {
		if own.at == path {
			return fresh
		}
		return unseen
	}
	switch {
	case hiddenAt(hits):
		return hidden
	case m.index.write(path, hits, asItStands).Verdict == Allow:
		return writable
	}
	return readOnly
}

// base is the host's tree, or an empty one where "/" itself is hidden.
func (m *mounter) base() {
	root := m.at["/"]
	switch root.access {
	case hidden:
		m.hide(&point{path: "/", access: hidden, info: m.dirInfo("/"), rule: m.ruleAt("/")}, true)
		return
	case writable:
		m.add(Mount{Kind: MountBind, Source: "/", Dest: "/", Dir: true, Why: m.why(m.ruleAt("/"))})
	default:
		m.add(Mount{Kind: MountROBind, Source: "/", Dest: "/", Dir: true, Why: "the host, read-only"})
	}
}

func (m *mounter) ruleAt(path string) *FileRule {
	for i := range m.files {
		if m.files[i].Path == path {
			return &m.files[i]
		}
	}
	return nil
}

func (m *mounter) dirInfo(path string) FileInfo {
	info, _ := m.lstat(path)
	return info
}

// place mounts one point, where access differs from what is around it.
func (m *mounter) place(p *point, points []*point) {
	if !p.mount {
		return
	}
	switch p.access {
	case fresh:
		m.fresh(p)
	case hidden:
		m.hide(p, p.info.Mode.IsDir() && m.holdsOpen(p.path, points))
	case readOnly:
		m.bind(MountROBind, p)
	case writable:
		if m.around(p.path).access != readOnly && len(m.pins(p, points)) > 0 {
			m.bind(MountBind, p) // pins need the host's directories to be there
		}
		m.pin(p, points)
		m.bind(MountBind, p)
	}
}

// around is the nearest mount above path.
func (m *mounter) around(path string) *point {
	for dir := parent(path); ; dir = parent(dir) {
		if p := m.at[dir]; p != nil && p.mount {
			return p
		}
	}
}

func (m *mounter) fresh(p *point) {
	switch p.path {
	case "/proc":
		m.add(Mount{Kind: MountProc, Dest: "/proc", Dir: true, Why: m.why(p.rule)})
	case "/dev":
		m.add(Mount{Kind: MountDev, Dest: "/dev", Dir: true, Why: m.why(p.rule)})
	default:
		m.add(Mount{Kind: MountTmpfs, Dest: p.path, Dir: true, Perms: 0o700, Why: m.why(p.rule)})
	}
}

// hide covers a place. A cover that holds a re-opened place stays listable, so
// that programs which open each parent of their directory still work.
func (m *mounter) hide(p *point, holdsOpen bool) {
	if !p.info.Mode.IsDir() {
		kind := MountHide
		if p.rule.Empty {
			kind = MountEmpty
		}
		m.add(Mount{Kind: kind, Dest: p.path, Why: m.why(p.rule)})
		return
	}
	var perms uint32
	if holdsOpen {
		perms = 0o555
	}
	m.add(Mount{Kind: MountHide, Dest: p.path, Dir: true, Perms: perms, Why: m.why(p.rule)})
	m.late = append(m.late, Mount{Kind: MountRemountRO, Dest: p.path, Dir: true, Why: "nothing can be written into a hidden place"})
}

func (m *mounter) holdsOpen(dir string, points []*point) bool {
	return slices.ContainsFunc(points, func(p *point) bool {
		return p.mount && beneath(dir, p.path) && (p.access == readOnly || p.access == writable)
	})
}

func (m *mounter) bind(kind MountKind, p *point) {
	bind := Mount{Kind: kind, Source: p.path, Dest: p.path, Dir: p.info.Mode.IsDir(), Dev: p.info.Dev, Ino: p.info.Ino, Why: m.why(p.rule)}
	if ownTree(p.path) == "/proc" { // the run's own proc is another file system than the host's
		bind.Dev, bind.Ino = 0, 0
	}
	m.add(bind)
}

func (m *mounter) pin(root *point, points []*point) {
	for _, dir := range m.pins(root, points) {
		info := m.dirInfo(dir)
		m.add(Mount{Kind: MountROBind, Source: dir, Dest: dir, Dir: true, Dev: info.Dev, Ino: info.Ino, Why: "pin: it holds a protected place"})
	}
}

// pins are the directories strictly between a write root and the places below it
// where writing ends.
func (m *mounter) pins(root *point, points []*point) []string {
	var dirs []string
	for _, p := range points {
		if !beneath(root.path, p.path) || p.access == writable || p.access == unseen {
			continue
		}
		if m.around(p.path).path != root.path {
			continue
		}
		for dir := parent(p.path); dir != root.path && dir != "/"; dir = parent(dir) {
			if info, err := m.lstat(dir); err == nil && info.Mode.IsDir() {
				dirs = append(dirs, dir)
			}
		}
	}
	slices.SortFunc(dirs, shallowFirst)
	return slices.Compact(dirs)
}

func (m *mounter) add(mount Mount) { m.list = append(m.list, mount) }

func (m *mounter) why(r *FileRule) string {
	if r == nil {
		return ""
	}
	why := string(r.Kind) + " " + r.Rule.Text
	if r.Rule.Reason != "" {
		why += ": " + r.Rule.Reason
	}
	return why
}
