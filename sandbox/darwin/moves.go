package darwin

import (
	"fmt"
	"slices"

	"github.com/gosrt/gosrt/policy"
)

// A rename is judged by the removal of one node and the creation of another;
// what lies beneath them is not looked at. So a denied place moves out of its
// rule together with a directory above it, and a directory that was filled
// elsewhere moves in. moveRules pin the directories from each denied place up to
// its write root: they are neither removed, renamed, replaced nor, where they
// do not exist yet, created.
//
// The operations are leaves, so nothing reverses them.
func (t fileTable) moveRules() []rule {
	pins := pinSet{table: t, literal: map[string]bool{}, folded: map[string]bool{}}
	for _, r := range t.roots {
		pins.add(r.path, false)
		pins.above(r.path, false)
	}
	for _, e := range slices.Concat(t.writes, t.reads, t.found) {
		if e.Kind == policy.AllowRead {
			continue
		}
		if e.glob == nil {
			pins.above(e.path, e.anyCase() && e.Kind != policy.DenyRead)
			continue
		}
		pins.add(e.glob.base, false)
		pins.above(e.glob.base, false)
		pins.tail(e)
	}
	filters := pins.filters()
	if len(filters) == 0 {
		return nil
	}
	return []rule{deny("file-write-unlink", "file-write-create").on(filters...).
		because("it holds a place that is protected", pins.entries()...)}
}

// pinSet collects what must stay where it is.
type pinSet struct {
	table           fileTable
	literal, folded map[string]bool
	patterns        []string
}

// add pins p when it lies in a write root.
func (s *pinSet) add(p string, fold bool) {
	switch w := s.table.rootOf(p); {
	case w == "":
	case fold && p != w:
		s.folded[p] = true
	default:
		s.literal[p] = true
	}
}

// above pins the directories over p up to its write root.
func (s *pinSet) above(p string, fold bool) {
	w := s.table.rootOf(p)
	if w == "" {
		return
	}
	for _, dir := range ancestors(p, w) {
		s.add(dir, fold)
	}
}

// tail pins every named directory of a pattern: for "**/.git/hooks" each ".git".
// A segment of wildcards alone would pin every directory of a project, so it is
// pinned only behind a name of our own table ("*.git/modules/**/hooks").
func (s *pinSet) tail(e entry) {
	if !s.table.touchesRoots(e.glob.base) {
		return
	}
	named := false
	for n := 1; n < len(e.glob.segments); n++ {
		here := regex(e.glob.prefix(n).regex(true))
		switch {
		case hasName(e.glob.segments[n-1]):
			named = true
			s.patterns = append(s.patterns, here)
		case named && e.Kind == policy.Protect:
			s.patterns = append(s.patterns, all(here, vnodeType("DIRECTORY")))
		}
	}
}

// hasName says that a segment is more than wildcards.
func hasName(segment string) bool {
	for _, r := range segment {
		if r != '*' && r != '?' {
			return true
		}
	}
	return false
}

func (s *pinSet) filters() []string {
	var literals []string
	for p := range s.literal {
		literals = append(literals, forms(p)...)
	}
	var names []foldName
	for p := range s.folded {
		if !s.literal[p] {
			names = append(names, s.table.foldName(p))
		}
	}
	out := each(literal, sorted(literals))
	out = append(out, each(regex, foldRegexes(names, true))...)
	return append(out, sorted(s.patterns)...)
}

// entries are those that a pin may be owed to.
func (s *pinSet) entries() []policy.FileRule {
	var out []policy.FileRule
	for _, e := range slices.Concat(s.table.writes, s.table.reads, s.table.roots) {
		if e.Kind != policy.AllowRead && s.table.touchesRoots(e.base()) {
			out = append(out, e.FileRule)
		}
	}
	return out
}

// linkBase refuses hard links; write roots open them for their own files.
// "(version 1)" would let the command link every file of the volume into a write
// root, and read or write it under that name.
func linkBase() rule {
	return deny("file-link").because("a link would be a second name outside its rules")
}

// socketMoves keep the sockets of the host out of the directories where the
// command may connect: it could not connect to them where they are. A directory
// that holds one still moves; Weaknesses says so.
func socketMoves(p *policy.Plan) []rule {
	if p.TmpDir == "" {
		return nil
	}
	return []rule{deny("file-link", "file-write-unlink").
		on(all(vnodeType("SOCKET"), not(subpath(canonical(p.TmpDir))))).
		because("a socket of the host stays where it is")}
}

// movePatterns names denied patterns that do not reach every write root: what
// they hold can leave with a directory that moves to where they say nothing.
func (t fileTable) movePatterns() []policy.Weakness {
	var out []policy.Weakness
	for _, e := range slices.Concat(t.writes, t.reads) {
		if e.glob == nil || e.Kind == policy.AllowRead || !t.touchesRoots(e.glob.base) || t.everywhere(e) {
			continue
		}
		out = append(out, policy.Weakness{ID: "darwin-pattern-moves", Text: fmt.Sprintf(
			"%s %s does not cover every write root: a directory moved between them carries names in and out of it", e.Kind, quoteText(e.Rule.Text))})
	}
	return out
}

// everywhere says that no directory can be moved to where the pattern ends: it
// stands at every root, and each of its segments is pinned.
func (t fileTable) everywhere(e entry) bool {
	if e.glob.segments[0] != anyDirs || e.Kind != policy.Protect && slices.ContainsFunc(e.glob.segments[1:], wildOnly) {
		return false
	}
	for _, w := range t.outer {
		same := func(o entry) bool {
			return o.glob != nil && o.Kind == e.Kind && within(w, o.glob.base) &&
				slices.Equal(o.glob.segments, e.glob.segments)
		}
		if !slices.ContainsFunc(slices.Concat(t.writes, t.reads), same) {
			return false
		}
	}
	return true
}

func wildOnly(segment string) bool { return !hasName(segment) }
