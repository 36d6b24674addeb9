package sandbox

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/policy"
)

// expectation is what the decisions say of one operation.
type expectation int

const (
	// may: the rules allow it, and something else can stand against it: the place
	// is not there, two mounts (EXDEV), permission bits, a directory that is not empty.
	may expectation = iota
	must
	mustNot
)

func (e expectation) String() string {
	return [...]string{"may succeed", "must succeed", "must fail"}[e]
}

// oracle asks the decisions. It looks at the tree as it is before the run.
type oracle struct {
	rules  policy.Files
	index  *policy.FileIndex
	mounts []string // file systems mounted in the tree, on the host
}

func newOracle(plan *policy.Plan, mounts []string) *oracle {
	rules := mountTable(plan)
	return &oracle{rules, rules.Index(), mounts}
}

// mountTable is the part of the table that mounts hold by themselves. A pattern
// is held where it matched when the run began; a name that matches later is the
// guard's.
func mountTable(plan *policy.Plan) policy.Files {
	table := slices.DeleteFunc(slices.Clone(plan.Files), func(r policy.FileRule) bool { return r.Pattern })
	for _, f := range plan.Found {
		r := plan.Files[f.Rule]
		r.Path, r.Pattern, r.Exists = f.Path, false, true
		table = append(table, r)
	}
	return table
}

// spot is where a spelled path is on the host.
type spot struct {
	path   string
	info   fs.FileInfo // nil: not there
	links  []string    // followed on the way
	blind  bool        // a directory on the way cannot be searched, or lies in one
	parent bool        // the directory it would be in is there
}

func (s spot) dir() bool { return s.info != nil && s.info.IsDir() }

// locate follows links as the kernel does, the last name's only with follow.
func locate(p string, follow bool) spot {
	s := spot{path: "/", parent: true}
	s.info, _ = os.Lstat("/")
	todo := strings.Split(strings.Trim(p, "/"), "/")
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if !s.dir() {
			s.path, s.parent, s.info = path.Join(s.path, name), false, nil
			continue
		}
		s.blind = s.blind || s.info.Mode().Perm()&0o100 == 0
		next := path.Join(s.path, name)
		info, err := os.Lstat(next)
		if err != nil {
			s.path, s.parent, s.info = next, true, nil
			continue
		}
		if info.Mode()&fs.ModeSymlink != 0 && (follow || len(todo) > 0) {
			target, _ := os.Readlink(next)
			if s.links = append(s.links, next); len(s.links) > 40 { // MAXSYMLINKS
				return spot{path: next, blind: true, links: s.links}
			}
			todo = append(strings.Split(strings.Trim(target, "/"), "/"), todo...)
			root, _ := os.Lstat("/")
			s.path, s.info = "/", root
			continue
		}
		s.path, s.info = next, info
	}
	return s
}

// reached says that nothing but the rules can stand in the way to s: each link
// on the way is visible, each directory can be searched.
func (o *oracle) reached(s spot) bool {
	for _, link := range s.links {
		if o.index.DecideRead(link).Verdict != policy.Allow {
			return false
		}
	}
	return !s.blind
}

func (o *oracle) expect(op fileOp) expectation {
	follow := slices.Contains(onePlace, op.Kind)
	s := locate(string(op.Path), follow)
	switch {
	case op.Kind == "read":
		return o.onPlace(s, o.index.DecideRead(s.path))
	case follow:
		if s.dir() && slices.Contains([]string{"write", "rdwr", "append", "trunc", "truncate"}, op.Kind) {
			return may // EISDIR
		}
		want := o.onPlace(s, o.index.DecideWrite(s.path))
		if want == must && s.dir() && s.info.Mode().Perm() == 0 {
			want = may
		}
		return want
	case slices.Contains(newPlace, op.Kind):
		return o.create(s)
	case op.Kind == "remove":
		if want := o.remove(s); want != must || s.dir() {
			return min(want, want&mustNot) // ENOTEMPTY
		}
		return must
	}
	return o.move(op, s)
}

// onPlace is for operations on what is there.
func (o *oracle) onPlace(s spot, d policy.Decision) expectation {
	switch {
	case s.info == nil || s.blind:
		return may
	case d.Verdict != policy.Allow:
		return mustNot
	case !o.reached(s) || s.dir() && s.info.Mode().Perm() == 0:
		return may
	}
	return must
}

func (o *oracle) create(s spot) expectation {
	switch {
	case s.blind || !s.parent || s.info != nil:
		return may
	case o.index.DecideWrite(s.path).Verdict != policy.Allow:
		return mustNot
	case !o.reached(s):
		return may
	}
	return must
}

// remove is for taking a name away. The name of a link is the guard's to hold.
func (o *oracle) remove(s spot) expectation {
	switch {
	case s.info == nil || s.blind || o.byNameOnly(s.path, s.info):
		return may
	case o.index.DecideRemove(s.path).Verdict != policy.Allow:
		return mustNot
	case !o.reached(s) || slices.ContainsFunc(o.mounts, func(m string) bool { return within(s.path, m) }):
		return may
	}
	return must
}

// byNameOnly says that no mount holds the name p, although a rule does: a link
// that a rule was spelled through, or a file where a denied place would have its
// directory. Both are the guard's.
func (o *oracle) byNameOnly(p string, info fs.FileInfo) bool {
	link, root := false, false
	for _, r := range o.rules {
		link = link || r.Link && r.Path == p
		root = root || r.Kind == policy.AllowWrite && r.Path == p && o.index.DecideWrite(path.Dir(p)).Verdict != policy.Allow
	}
	return link || !root && !info.IsDir() && o.index.DecideWrite(p).Verdict == policy.Allow &&
		o.index.DecideRemove(p).Verdict != policy.Allow
}

func within(dir, p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// move is for two places. Between two directories it may cross mounts.
func (o *oracle) move(op fileOp, s spot) expectation {
	to := locate(string(op.To), false)
	var from, into expectation
	switch op.Kind {
	case "link":
		from, into = o.onPlace(s, o.index.DecideWrite(s.path)), o.create(to)
		if s.info != nil && (s.dir() || o.byNameOnly(s.path, s.info)) {
			from = may
		}
	case "rename":
		from, into = o.remove(s), o.create(to)
	case "exchange":
		from, into = o.remove(s), o.remove(to)
	}
	switch {
	case s.info == nil || op.Kind == "exchange" && to.info == nil:
		return may
	case within(s.path, to.path) || within(to.path, s.path): // EINVAL
		return may
	case from == mustNot || into == mustNot:
		return mustNot
	case from == must && into == must && op.Kind != "exchange" && path.Dir(s.path) == path.Dir(to.path):
		return must
	}
	return may
}

// kept is the state of every place that nothing inside may change.
func (o *oracle) kept(places []string) map[string]state {
	kept := map[string]state{}
	for _, p := range places {
		s := locate(p, false)
		if s.info == nil || s.links != nil || o.byNameOnly(p, s.info) {
			continue
		}
		if o.index.DecideRemove(p).Verdict != policy.Allow {
			single := s.info.Sys().(*syscall.Stat_t).Nlink == 1
			kept[p] = stateOf(p, single && o.index.DecideWrite(p).Verdict != policy.Allow)
		}
	}
	return kept
}

// state is what a place is. Sized is for files that cannot be written: those with
// two names may be changed by the other.
type state struct {
	err   error
	ino   uint64
	mode  uint32
	sized bool
	size  int64
}

func stateOf(p string, sized bool) state {
	var st unix.Stat_t
	err := unix.Lstat(p, &st)
	s := state{err: err, ino: st.Ino, mode: st.Mode, sized: sized}
	if sized && st.Mode&unix.S_IFMT == unix.S_IFREG {
		s.size = st.Size
	}
	return s
}
