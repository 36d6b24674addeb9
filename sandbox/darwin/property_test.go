package darwin

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gosrt/gosrt/policy"
)

// The properties of issue and design: the profile says what policy decides, and
// no sequence of permitted calls gets around it.

// world is a random tree with a random plan and its profile.
type world struct {
	mac    *fakeMac
	plan   *policy.Plan
	result Rendered
	start  map[string]*vnode // canonical path -> node, before anything ran
	datas  map[string]string
}

var (
	nameGen   = rapid.SampledFrom([]string{"a", "b", "h", "k.x"})
	topGen    = rapid.SampledFrom([]string{"/w", "/w/a", "/v", "/r"})
	rootGen   = rapid.SampledFrom([]string{"/w", "/v", "/w/a", "/w/a/b", "/r/a"})
	globTails = rapid.SampledFrom([]string{"**/k.x", "*/k.x", "**/h/k.x", "**/h/*/k.x", "**/[a-b]/h", "h*", "**/?.x/**/a"})
)

func drawPath(t *rapid.T) string {
	p := topGen.Draw(t, "top")
	for _, n := range rapid.SliceOfN(nameGen, 0, 4).Draw(t, "names") {
		p += "/" + n
	}
	return p
}

func drawTree(t *rapid.T) *fakeMac {
	m := newMac()
	for _, d := range []string{"/w/a/b", "/v", "/r/a", "/w/h"} {
		m.mkdirAll(d)
	}
	for range rapid.IntRange(3, 14).Draw(t, "nodes") {
		p := drawPath(t)
		if !m.plain(path.Dir(p)) {
			continue
		}
		if _, exists := m.find(p, false); exists {
			continue
		}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			m.add(p, &vnode{kind: "SYMLINK", target: drawPath(t)})
		case 1, 2:
			m.mkdirAll(p)
		default:
			m.put(p, "data of "+p)
		}
	}
	return m
}

// plain says that p or what exists of it consists of directories.
func (m *fakeMac) plain(p string) bool {
	for ; ; p = path.Dir(p) {
		if n, exists := m.find(p, false); exists {
			return n.kind == "DIRECTORY" && n.path() == p
		}
		if _, reachable := m.lookup(p, false); reachable && !m.plain(path.Dir(p)) {
			return false
		}
	}
}

// canonicalHere says that p names itself: no link on the way.
func (m *fakeMac) canonicalHere(p string) bool {
	n, exists := m.find(p, false)
	if exists {
		return n.path() == p
	}
	return m.plain(path.Dir(p))
}

func drawPlan(t *rapid.T, m *fakeMac, patterns bool) *policy.Plan {
	p := &policy.Plan{OS: "darwin", HTTPPort: 3128, SOCKSPort: 1080}
	add := func(kind policy.FileKind, at string, pattern bool) {
		n, exists := m.find(at, false)
		r := policy.FileRule{Kind: kind, Path: at, Pattern: pattern, Exists: exists && !pattern,
			Dir: exists && n.kind == "DIRECTORY", Rule: policy.PathRule{Text: at, Path: at, Pattern: pattern}}
		p.Files = append(p.Files, r)
	}
	for _, root := range rapid.SliceOfNDistinct(rootGen, 1, 3, rapid.ID).Draw(t, "roots") {
		add(policy.AllowWrite, root, false)
	}
	kinds := rapid.SampledFrom([]policy.FileKind{policy.DenyRead, policy.DenyRead, policy.AllowRead, policy.DenyWrite, policy.Protect})
	for range rapid.IntRange(1, 6).Draw(t, "rules") {
		kind, at := kinds.Draw(t, "rule"), drawPath(t)
		n, exists := m.find(at, false)
		switch {
		case patterns && rapid.IntRange(0, 2).Draw(t, "glob") == 0:
			if base := topGen.Draw(t, "base"); m.plain(base) {
				add(kind, base+"/"+globTails.Draw(t, "tail"), true)
			}
		case !m.canonicalHere(at):
		case kind == policy.AllowRead && !exists, exists && n.kind == "SYMLINK" && kind != policy.DenyWrite:
			// Compile drops the first and follows the second.
		default:
			add(kind, at, false)
		}
	}
	p.Found = findMatches(m, p.Files)
	return p
}

func findMatches(m *fakeMac, files policy.Files) []policy.Found {
	var out []policy.Found
	for i, r := range files {
		if !r.Pattern || r.Kind == policy.AllowRead {
			continue
		}
		g, err := newGlob(r.Path, false)
		if err != nil {
			panic(err)
		}
		m.each(func(p string, _ *vnode) {
			if within(p, g.base) && g.matches(p) {
				out = append(out, policy.Found{Path: p, Rule: i})
			}
		})
	}
	slices.SortFunc(out, func(a, b policy.Found) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func drawWorld(t *rapid.T, patterns bool) *world {
	w := &world{mac: drawTree(t), start: map[string]*vnode{}, datas: map[string]string{}}
	w.plan = drawPlan(t, w.mac, patterns)
	w.confine(t)
	w.mac.each(func(p string, n *vnode) {
		w.start[p] = n
		if n.data != nil {
			w.datas[p] = *n.data
		}
	})
	return w
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func (w *world) confine(t fataler) {
	t.Helper()
	var err error
	if w.result, err = Profile(w.plan, Options{}); err != nil {
		t.Fatalf("profile: %v", err)
	}
	if w.mac.profile, err = compileSBPL(w.result.Text, 15); err != nil {
		t.Fatalf("does not compile: %v\n%s", err, w.result.Text)
	}
}

func (w *world) allowed(d policy.Decision) bool { return d.Verdict == policy.Allow }

// leads says that a directory is readable for policy only as the way to a place
// that is opened again. There it shows those names alone, which a profile
// cannot; so it shows none.
func leads(d policy.Decision) bool { return strings.HasPrefix(d.Reason, "hidden, but lists") }

// meet says that both a permission and a denial of reading are patterns, where
// the profile may be the stricter one.
func (w *world) meet() bool {
	var deny, allow bool
	for _, r := range w.plan.Files {
		deny = deny || r.Pattern && r.Kind == policy.DenyRead
		allow = allow || r.Pattern && r.Kind == policy.AllowRead
	}
	return deny && allow
}

func (w *world) describe() string {
	var b strings.Builder
	for _, r := range w.plan.Files {
		fmt.Fprintf(&b, "%s %s pattern=%v exists=%v\n", r.Kind, r.Path, r.Pattern, r.Exists)
	}
	for _, p := range slices.Sorted(maps.Keys(w.start)) {
		if within(p, "/w") || within(p, "/v") || within(p, "/r") {
			fmt.Fprintf(&b, "  %s %s %s\n", p, w.start[p].kind, w.start[p].target)
		}
	}
	i := strings.Index(w.result.Text, "; write roots")
	return b.String() + w.result.Text[i:]
}

// TestReadsEqualPolicy: each existing place is read, and run, exactly when the
// policy says so.
func TestReadsEqualPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, true)
		index := w.plan.Files.Index()
		for p, n := range w.start {
			if n.kind == "SYMLINK" || p == "/" || within(p, "/dev") {
				continue
			}
			d := index.DecideRead(p)
			_, e := w.mac.read(p)
			got := e != eperm
			switch {
			case got == w.allowed(d), !got && leads(d), !got && w.meet():
			default:
				t.Fatalf("read %s: macOS %v, policy %+v\n%s", p, got, d, w.describe())
			}
			if runs := w.mac.exec(p) == ok; runs != got {
				t.Fatalf("exec %s: %v, read %v", p, runs, got)
			}
		}
	})
}

// TestWritesEqualPolicy: each existing file is written exactly when the policy
// says so; a new name is never made where policy denies it, and is refused
// beyond that only where it is pinned.
func TestWritesEqualPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, true)
		index := w.plan.Files.Index()
		for p, n := range w.start {
			if n.data != nil && !within(p, "/dev") {
				d := index.DecideWrite(p)
				got := w.mac.check(on("file-write-data", looked{node: n}))
				if got != w.allowed(d) && (got || !w.meet()) {
					t.Fatalf("write %s: macOS %v, policy %+v\n%s", p, got, d, w.describe())
				}
			}
			if n.kind != "DIRECTORY" {
				continue
			}
			for _, name := range []string{"a", "h", "k.x", "new"} {
				if n.children[name] == nil {
					w.checkCreate(t, index, looked{parent: n, name: name})
				}
			}
		}
	})
}

func (w *world) checkCreate(t *rapid.T, index *policy.FileIndex, at looked) {
	d := index.DecideWrite(at.path())
	got := w.mac.profile.decide(making(at, "DIRECTORY"))
	switch {
	case got.allow == w.allowed(d):
	case got.allow:
		t.Fatalf("create %s: macOS allows, policy %+v\n%s", at.path(), d, w.describe())
	case w.meet():
	case !strings.Contains(w.mac.profile.rules[got.rule].ops[0], "unlink") && w.mac.profile.rules[got.rule].ops[0] != "file-write-unlink":
		t.Fatalf("create %s: macOS denies beyond the pins, policy %+v\n%s", at.path(), d, w.describe())
	}
}

// drawStep is one call on places that exist, that earlier steps made, or near
// them, spelled in odd ways at times.
func (w *world) drawStep(t *rapid.T, pool *[]string) string {
	verb := rapid.SampledFrom([]string{"write", "mkdir", "symlink", "remove", "rename", "rename", "rename", "swap", "link", "clone"}).Draw(t, "verb")
	place := func(fresh bool) string {
		p := rapid.SampledFrom(*pool).Draw(t, "place")
		if fresh && rapid.IntRange(0, 3).Draw(t, "new") > 0 {
			p += "/" + rapid.SampledFrom([]string{"a", "b", "h", "k.x", "n"}).Draw(t, "name")
		}
		*pool = append(*pool, p)
		switch rapid.IntRange(0, 9).Draw(t, "spelling") {
		case 0:
			return path.Dir(p) + "/" + strings.ToUpper(path.Base(p))
		case 1:
			return path.Dir(p) + "/../" + path.Base(path.Dir(p)) + "/" + path.Base(p)
		}
		return p
	}
	step := verb + " " + place(verb == "mkdir" || verb == "write")
	if strings.Contains("symlink rename swap link clone", verb) {
		step += " " + place(verb != "swap")
	}
	return step
}

// drawAttack is a known way around path rules, at random places: X is somewhere
// on the way to what a rule names, Y a new name in a write root.
func (w *world) drawAttack(t *rapid.T, pool *[]string) []string {
	x := rapid.SampledFrom(w.places()).Draw(t, "x")
	root := rapid.SampledFrom(w.plan.Files).Filter(func(r policy.FileRule) bool { return r.Kind == policy.AllowWrite }).Draw(t, "root").Path
	y := root + "/" + rapid.SampledFrom([]string{"n", "n2", "a", "h", "k.x"}).Draw(t, "y")
	name := rapid.SampledFrom([]string{"a", "b", "h", "k.x", "k.x/a", "h/k.x", "a/b"}).Draw(t, "name")
	*pool = append(*pool, y)
	script := rapid.SampledFrom([]string{
		"link X Y; write Y",
		"link X/N Y; write Y",
		"clone X Y; write Y/N",
		"symlink X Y; write Y/N; link Y/N Y2",
		"rename X Y; write Y/N; remove Y/N; rename Y X",
		"rename X/N Y; write Y",
		"mkdir Y; mkdir Y/h; write Y/N; rename Y X/N",
		"mkdir Y; write Y/N; swap Y X",
		"rename X Y; symlink /r X; write X/N",
		"write Y; rename Y X/N",
		"symlink X/N Y; swap X Y",
	}).Draw(t, "script")
	script = strings.NewReplacer("X", x, "Y", y, "N", name).Replace(script)
	return strings.Split(script, "; ")
}

// places are the paths of the tree that the rules speak of.
func (w *world) places() []string {
	var out []string
	for p := range w.start {
		if within(p, "/w") || within(p, "/v") || within(p, "/r") {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// TestNoSequenceGetsAround: whatever permitted calls run one after another, what
// the policy keeps from being written is what and where it was, and bytes that
// were hidden are read under no name.
func TestNoSequenceGetsAround(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, rapid.Bool().Draw(t, "patterns"))
		index := w.plan.Files.Index()
		pool := w.places()
		var steps []string
		for range rapid.IntRange(1, 16).Draw(t, "steps") {
			script := []string{w.drawStep(t, &pool)}
			if rapid.Bool().Draw(t, "attack") {
				script = w.drawAttack(t, &pool)
			}
			for _, s := range script {
				steps = append(steps, s+"  -> "+w.mac.run(s))
			}
		}
		if fault := w.broken(index); fault != "" {
			t.Fatalf("%s\nafter\n  %s\n%s", fault, strings.Join(steps, "\n  "), w.describe())
		}
	})
}

// broken names the first promise that no longer holds.
func (w *world) broken(index *policy.FileIndex) string {
	secrets := map[string]string{}
	for p, n := range w.start {
		if data, is := w.datas[p]; is && !w.allowed(index.DecideRead(p)) {
			secrets[data] = p
		}
		if p == "/" || w.allowed(index.DecideWrite(p)) || within(p, "/dev") {
			continue
		}
		now, exists := w.mac.find(p, false)
		switch {
		case !exists || now != n:
			return fmt.Sprintf("%s is not where it was", p)
		case n.data != nil && *n.data != w.datas[p]:
			return fmt.Sprintf("%s holds %q", p, *n.data)
		}
	}
	if fault := w.appeared(index); fault != "" {
		return fault
	}
	fault := ""
	w.mac.each(func(p string, n *vnode) {
		if n.data == nil {
			return
		}
		if from, hidden := secrets[*n.data]; hidden {
			if _, e := w.mac.read(p); e == ok {
				fault = fmt.Sprintf("%s shows what %s hides", p, from)
			}
		}
	})
	return fault
}

// appeared finds a new node where the policy denies one, in any case of its
// name. A pattern that ends somewhere inside the write roots is a weakness that
// the profile names, so it is left out.
func (w *world) appeared(index *policy.FileIndex) string {
	for _, r := range w.plan.Files {
		if !r.Pattern && !r.Exists && (r.Kind == policy.DenyWrite || r.Kind == policy.Protect) {
			if _, exists := w.mac.find(r.Path, false); exists {
				return r.Path + " appeared"
			}
		}
	}
	if slices.ContainsFunc(w.result.Weaknesses, func(k policy.Weakness) bool { return k.ID == "darwin-pattern-moves" }) || w.meet() {
		return ""
	}
	fault := ""
	w.mac.each(func(p string, n *vnode) {
		if w.start[p] == nil && !w.allowed(index.DecideWrite(p)) && !hiddenOnly(index, p) {
			fault = p + " appeared where nothing may be written"
		}
	})
	return fault
}

// hiddenOnly says that p is closed for writing only because it is hidden: a
// directory that the command filled itself may move to where it is hidden from it.
func hiddenOnly(index *policy.FileIndex, p string) bool {
	return strings.Contains(index.DecideWrite(p).Reason, "hidden")
}
