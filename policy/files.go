package policy

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// The decision about a path. Mounts, guard, explain and tests all ask it.
//
// Paths are canonical: absolute, every link followed, as the kernel sees them at
// the moment of the call. A path that is not absolute is denied.
//
// What a decision does not know: hard links that existed before the run (a file
// has every name it has), and file descriptors that are already open.

// DecideRead says whether the command may read path and list it.
func (f Files) DecideRead(path string) Decision { return f.Index().DecideRead(path) }

// DecideWrite says whether the command may create, change or remove path.
func (f Files) DecideWrite(path string) Decision { return f.Index().DecideWrite(path) }

// DecideRead is Files.DecideRead for the plan's table.
func (p *Plan) DecideRead(path string) Decision { return p.Files.DecideRead(path) }

// DecideWrite is Files.DecideWrite for the plan's table.
func (p *Plan) DecideWrite(path string) Decision { return p.Files.DecideWrite(path) }

// FileIndex is a Files prepared for many decisions. It may be used by several
// goroutines at once.
type FileIndex struct {
	rules Files
	// literal is the first rule at a path, plus one; next leads on from there.
	literal  map[string]int
	next     []int
	patterns []pattern
	// holding are directories above a place where writing is denied, and
	// reopened those above a place that is opened again inside a hidden one.
	holding, reopened map[string]int
}

type pattern struct {
	rule int
	glob glob
}

// hit is a rule that covers a path, and at which place it does.
type hit struct {
	*FileRule
	at string
}

// Index prepares the table for many decisions.
func (f Files) Index() *FileIndex {
	x := &FileIndex{rules: f, literal: make(map[string]int, len(f)), next: make([]int, len(f)), holding: map[string]int{}, reopened: map[string]int{}}
	for i := len(f) - 1; i >= 0; i-- {
		switch r := &f[i]; {
		case r.Kind == Socket:
		case r.Pattern:
			x.patterns = append(x.patterns, pattern{i, newGlob(r.Path)})
		default:
			x.next[i], x.literal[r.Path] = x.literal[r.Path], i+1
		}
	}
	slices.Reverse(x.patterns)
	for i := range f {
		r := &f[i]
		if r.Pattern || r.Path == "/" {
			continue
		}
		switch r.Kind {
		case DenyRead:
			if !x.opened(r.Path) {
				x.above(x.holding, r.Path, i)
			}
		case DenyWrite, Protect:
			x.above(x.holding, r.Path, i)
		case AllowRead:
			if r.Exists && x.DecideRead(r.Path).Verdict == Allow {
				x.above(x.reopened, r.Path, i)
			}
		}
	}
	return x
}

func (x *FileIndex) above(dirs map[string]int, path string, rule int) {
	for dir := parent(path); ; dir = parent(dir) {
		if _, done := dirs[dir]; !done {
			dirs[dir] = rule
		}
		if dir == "/" {
			return
		}
	}
}

// at yields the literal rules of exactly path, in the order of the table.
func (x *FileIndex) at(path string) iter.Seq[*FileRule] {
	return func(yield func(*FileRule) bool) {
		for i := x.literal[path]; i > 0; i = x.next[i-1] {
			if !yield(&x.rules[i-1]) {
				return
			}
		}
	}
}

// opened says that an allowRead of exactly path stands against what hides it.
func (x *FileIndex) opened(path string) bool {
	for r := range x.at(path) {
		if r.Kind == AllowRead {
			return !hiddenAt(x.covering(path))
		}
	}
	return false
}

// covering lists the rules that cover path.
func (x *FileIndex) covering(path string) []hit {
	var hits []hit
	for at := path; ; at = parent(at) {
		for r := range x.at(at) {
			if at == path || !r.Exact {
				hits = append(hits, hit{r, at})
			}
		}
		if at == "/" {
			break
		}
	}
	for _, p := range x.patterns {
		r := &x.rules[p.rule]
		at, ok := p.glob.match(path)
		if ok && (at == path || !r.Exact) {
			hits = append(hits, hit{r, at})
		}
	}
	return hits
}

// private says that path lies in a tree of the run's own, where the host's rules
// have nothing to say.
func private(hits []hit) (hit, bool) {
	var fresh, host hit
	for _, h := range hits {
		switch {
		case h.Fresh:
			fresh = deeper(fresh, h)
		case h.Kind == AllowRead || h.Kind == AllowWrite:
			host = deeper(host, h)
		case h.Kind == Protect && h.Final:
			host = deeper(host, h)
		}
	}
	if fresh.FileRule == nil || host.FileRule != nil && depth(host.at) > depth(fresh.at) {
		return hit{}, false
	}
	return fresh, true
}

func deeper(a, b hit) hit {
	if a.FileRule == nil || b.FileRule != nil && depth(b.at) > depth(a.at) {
		return b
	}
	return a
}

// DecideRead says whether the command may read path and list it.
func (x *FileIndex) DecideRead(path string) Decision {
	if !strings.HasPrefix(path, "/") {
		return Decision{Reason: "not an absolute path"}
	}
	return x.read(path, x.covering(path))
}

func (x *FileIndex) read(path string, hits []hit) Decision {
	if own, ok := private(hits); ok {
		return own.decide(Allow, "the run has its own "+own.Path)
	}
	deny, allow := strongest(hits, AllowRead, DenyRead)
	switch {
	case deny.FileRule == nil && allow.FileRule == nil:
		return Decision{Verdict: Allow, Reason: "no denyRead entry covers it"}
	case wins(allow, deny):
		return allow.decide(Allow, "opened for reading")
	}
	if _, ok := x.reopened[path]; ok {
		return deny.decide(Allow, "hidden, but lists the places that are opened inside it")
	}
	d := deny.decide(Deny, reasonOr(deny.FileRule, "hidden"))
	if !deny.Final {
		d.Hint = "--allow-read " + quoteArg(path)
	}
	return d
}

// DecideWrite says whether the command may create, change or remove path.
func (x *FileIndex) DecideWrite(path string) Decision {
	return x.decideWrite(path, asItStands)
}

// asItStands lifts no rule.
func asItStands(hit) bool { return false }

// DecideCreate is DecideWrite for a call that makes path, or writes what the
// command itself made. Born reports whether a path did not exist when the run
// began: git may then fill the repositories that it makes.
func (x *FileIndex) DecideCreate(path string, born func(path string) bool) Decision {
	return x.decideWrite(path, func(h hit) bool { return h.opensAtBirth(path, born) })
}

func (x *FileIndex) decideWrite(path string, lifted func(hit) bool) Decision {
	if !strings.HasPrefix(path, "/") {
		return Decision{Reason: "not an absolute path"}
	}
	return x.write(path, x.covering(path), lifted)
}

func (x *FileIndex) write(path string, hits []hit, lifted func(hit) bool) Decision {
	if own, ok := private(hits); ok {
		return own.decide(Allow, "the run has its own "+own.Path)
	}
	deny, allow := strongestWrite(hits, lifted)
	if deny.FileRule != nil {
		return x.refuse(deny, path)
	}
	if allow.FileRule == nil {
		return Decision{Reason: "no allowWrite entry covers it", Hint: "--allow-write " + quoteArg(path)}
	}
	if hiddenAt(hits) {
		return hidingRule(hits).decide(Deny, "hidden, so it cannot be written")
	}
	return allow.decide(Allow, "opened for writing")
}

// readable says that path can be read, and not only listed as the way to a
// re-opened place.
func (x *FileIndex) readable(path string) bool {
	hits := x.covering(path)
	_, own := private(hits)
	return own || !hiddenAt(hits)
}

// hiding is the decision of the rule that hides path.
func (x *FileIndex) hiding(path string) Decision {
	return hidingRule(x.covering(path)).decide(Deny, "hidden")
}

func hidingRule(hits []hit) hit {
	deny, _ := strongest(hits, AllowRead, DenyRead)
	return deny
}

// hiddenAt says that a denyRead covers the path and nothing opens it.
func hiddenAt(hits []hit) bool {
	deny, allow := strongest(hits, AllowRead, DenyRead)
	return deny.FileRule != nil && !wins(allow, deny)
}

func (x *FileIndex) refuse(deny hit, path string) Decision {
	d := deny.decide(Deny, reasonOr(deny.FileRule, "write-protected"))
	if deny.Kind == Protect && !deny.Final && !deny.Pattern {
		d.Hint = "--allow-write " + quoteArg(deny.Path)
	}
	return d
}

// DecideRemove says whether path may be renamed away or removed: beyond what
// DecideWrite asks, nothing that is denied may lie beneath it, and a write root
// itself stays.
func (x *FileIndex) DecideRemove(path string) Decision {
	if d := x.DecideWrite(path); d.Verdict != Allow {
		return d
	}
	if i, ok := x.holding[path]; ok {
		r := x.rules[i]
		return hit{&r, r.Path}.decide(Deny, fmt.Sprintf("it holds %q", r.Path))
	}
	for r := range x.at(path) {
		if r.Kind == AllowWrite && x.DecideWrite(parent(path)).Verdict != Allow {
			return hit{r, r.Path}.decide(Deny, "a write root itself stays where it is")
		}
	}
	if dir := parent(path); !x.readable(dir) { // it was opened by name
		return x.hiding(dir)
	}
	return x.DecideWrite(path)
}

// DecideMoveTo says whether a directory may be renamed to path. What is in it got
// there under other names, so no protected or denied name may lie beneath path: a
// repository built elsewhere would bring its hooks along.
func (x *FileIndex) DecideMoveTo(path string) Decision {
	d := x.DecideRemove(path) // it may replace an empty directory
	if d.Verdict != Allow {
		return d
	}
	for _, p := range x.patterns {
		r := &x.rules[p.rule]
		if r.Kind != AllowRead && p.glob.leadsOn(path) {
			return hit{r, path}.decide(Deny, "a directory moved here could bring what the rule denies")
		}
	}
	return d
}

// strongest picks the most specific denial and the most specific permission.
// Where final rules cover the path, only they count, except that a denial deeper
// than a final permission stands.
func strongest(hits []hit, allowKind, denyKind FileKind) (deny, allow hit) {
	final := slices.ContainsFunc(hits, func(h hit) bool { return h.Final && (h.Kind == denyKind || h.Kind == allowKind) })
	for _, h := range hits {
		switch {
		case final && !h.Final:
		case h.Kind == denyKind:
			deny = deeper(deny, h)
		case h.Kind == allowKind:
			allow = deeper(allow, h)
		}
	}
	if !final || !wins(allow, deny) {
		return deny, allow
	}
	for _, h := range hits {
		if h.Kind == denyKind && !wins(allow, h) {
			deny = deeper(deny, h)
		}
	}
	return deny, allow
}

// strongestWrite finds a denial of writing, which wins at any depth, and the
// permission that counts where there is none. A final permission (gosrt's own
// cache directory) stands against denials that are not deeper.
func strongestWrite(hits []hit, lifted func(hit) bool) (deny, allow hit) {
	for _, h := range hits {
		if h.Kind == AllowWrite && !h.Fresh { // private has spoken already
			allow = firmer(allow, h)
		}
	}
	final := allow.FileRule != nil && allow.Final
	for _, h := range hits {
		denies := (h.Kind == DenyWrite || h.Kind == Protect) && !lifted(h) && !opensByName(hits, h)
		if denies && !(final && wins(allow, h)) {
			deny = firmer(deny, h)
		}
	}
	return deny, allow
}

// opensByName says that an allowWrite names exactly the place at which a row of
// the protected table matched by name.
func opensByName(hits []hit, h hit) bool {
	if h.Kind != Protect || !h.Pattern || h.Final {
		return false
	}
	return slices.ContainsFunc(hits, func(o hit) bool { return o.Kind == AllowWrite && !o.Fresh && o.at == h.at })
}

// firmer prefers a final rule, then the deeper one.
func firmer(a, b hit) hit {
	if a.FileRule != nil && a.Final != b.Final {
		if a.Final {
			return a
		}
		return b
	}
	return deeper(a, b)
}

// wins says that a permission stands against a denial: it is at least as specific.
func wins(allow, deny hit) bool {
	if allow.FileRule == nil || deny.FileRule == nil {
		return deny.FileRule == nil
	}
	return depth(allow.at) >= depth(deny.at)
}

// opensAtBirth says that the rule leaves path to git, in a repository made
// during the run.
func (h hit) opensAtBirth(path string, born func(string) bool) bool {
	_, ok := h.bornHolder(path, born)
	return ok
}

// bornHolder is the new directory, or .git file, for which the rule leaves path
// to git.
func (h hit) bornHolder(path string, born func(string) bool) (string, bool) {
	if h.Birth == nil {
		return "", false
	}
	holder := h.at
	for range h.Birth.Up {
		holder = parent(holder)
	}
	if !born(holder) {
		return "", false
	}
	if len(h.Birth.Names) == 0 {
		return holder, true
	}
	for _, name := range h.Birth.Names {
		if at, ok := newGlob(join(escape(holder), name)).match(path); ok && at == path {
			return holder, true
		}
	}
	return "", false
}

func (h hit) decide(v Verdict, reason string) Decision {
	return Decision{Verdict: v, Rule: string(h.Kind) + " " + h.Rule.Text, Origin: h.Rule.Origin, Reason: reason}
}

func reasonOr(r *FileRule, otherwise string) string {
	if r.Rule.Reason != "" {
		return r.Rule.Reason
	}
	return otherwise
}

// quoteArg spells a path for a command line in a hint.
func quoteArg(p string) string {
	plain := strings.IndexFunc(p, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(`'"\$&;|<>()*?[]{}!#~`+"`", r)
	}) < 0
	if plain {
		return p
	}
	return "'" + strings.ReplaceAll(p, "'", `'\''`) + "'"
}
