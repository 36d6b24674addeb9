package policy

import (
	"slices"
)

// The guard's question. Mounts hold what existed when the run began; the guard
// sees each call that makes, moves, removes or writes a name and refuses by name
// what no mount can hold: a protected path that is not there yet, a match of a
// pattern, a repository that appears. It never grants: what it does not refuse
// is left to the kernel.

// Act is what a call does to a name.
type Act int

const (
	ActWrite   Act = iota // changes a file that is there
	ActCreate             // makes a name that was not there
	ActSymlink            // makes a symbolic link, or moves one here
	ActRemove             // takes a name away
)

// Judgement is the guard's answer about one name.
type Judgement struct {
	Decision
	// Refuse says that the guard answers EACCES. A denial without it is the
	// kernel's to hold (EROFS: outside every write root) and is only reported.
	Refuse bool
	// Born is the new git directory, or .git file, that a rule was lifted for;
	// empty for every other permission.
	Born string
}

// Judge decides about one name. Path is canonical, the name itself not followed.
// Born reports whether a path did not exist when the run began.
func (x *FileIndex) Judge(act Act, path string, born func(path string) bool) Judgement {
	var j Judgement
	hits := x.covering(path)
	lift := func(h hit) bool {
		holder, ok := h.bornHolder(path, born)
		if ok {
			j.Born = holder
		}
		return ok
	}
	j.Decision = x.write(path, hits, lift)
	if j.Verdict == Allow && act == ActSymlink {
		if held, ok := x.leading(path); ok {
			j.Decision = held.decide(Deny, "a link here would lead to what the rule protects")
		}
	}
	if j.Verdict != Allow {
		j.Born = ""
		j.Refuse = slices.ContainsFunc(hits, func(h hit) bool { return h.Kind == AllowWrite && !h.Fresh })
	}
	return j
}

// leading finds a rule that denies writing and that path is part of the way to:
// a literal one beneath it, or a pattern of which more than a leading "**" has
// matched.
func (x *FileIndex) leading(path string) (hit, bool) {
	if i, ok := x.holding[path]; ok {
		return hit{&x.rules[i], path}, true
	}
	for _, p := range x.patterns {
		if r := &x.rules[p.rule]; r.Kind != AllowRead && p.glob.leadsOn(path) {
			return hit{r, path}, true
		}
	}
	return hit{}, false
}

// SameBelow says that every rule decides alike beneath both paths, so that a
// directory moved from one to the other brings no name under a rule that it was
// not under before.
func (x *FileIndex) SameBelow(old, new string) bool {
	if _, held := x.holding[new]; held {
		return false
	}
	for _, p := range x.patterns {
		r := &x.rules[p.rule]
		if r.Kind == AllowRead {
			continue
		}
		if p.glob.reached(old) != p.glob.reached(new) {
			return false
		}
	}
	return true
}

// reached is the state after the whole path; none outside the base.
func (g glob) reached(p string) states {
	if !within(g.base, p) {
		return 0
	}
	var last states
	g.walk(p, func(end int, s states) {
		last = s
		if end < len(p) {
			last = 0
		}
	})
	return last
}

// Absent lists the literal rules that deny writing at a place that is not there,
// inside a write root: what no mount holds.
func (x *FileIndex) Absent() []string {
	var paths []string
	for _, r := range x.rules {
		if r.Exists || r.Link || r.Pattern || r.Kind != Protect && r.Kind != DenyWrite && r.Kind != DenyRead {
			continue
		}
		if x.Judge(ActCreate, r.Path, func(string) bool { return false }).Refuse {
			paths = append(paths, r.Path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
