package darwin

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gosrt/gosrt/policy"
)

// entry is one file rule of the plan, spelled as the kernel spells paths.
type entry struct {
	policy.FileRule
	path string // canonical
	glob *glob  // for a Pattern
}

// base is the directory below which an entry says something.
func (e entry) base() string {
	if e.glob != nil {
		return e.glob.base
	}
	return e.path
}

// fileTable is the plan's file rules by what they do.
type fileTable struct {
	reads  []entry // DenyRead and AllowRead
	writes []entry // DenyWrite and Protect
	roots  []entry // AllowWrite, shallow first
	outer  []string
	// found are places that denied patterns match now.
	found []entry
}

func newFileTable(p *policy.Plan) (fileTable, error) {
	files := p.Files
	var t fileTable
	for _, r := range files {
		e, err := newEntry(r)
		if err != nil {
			return fileTable{}, err
		}
		switch r.Kind {
		case policy.DenyRead, policy.AllowRead:
			t.reads = append(t.reads, e)
		case policy.DenyWrite, policy.Protect:
			t.writes = append(t.writes, e)
		case policy.AllowWrite:
			if r.Pattern {
				return fileTable{}, ruleError(r, "a pattern cannot be a write root; allow the directory it lies in")
			}
			t.roots = append(t.roots, e)
		}
	}
	// In an order of their own, so that the policy's has no meaning and the same
	// policy gives the same text.
	t.reads, t.writes, t.roots = ordered(t.reads), ordered(t.writes), ordered(t.roots)
	for _, r := range t.roots {
		if t.rootOf(r.path) == "" {
			t.outer = append(t.outer, r.path)
		}
	}
	for _, f := range p.Found {
		r := files[f.Rule]
		r.Path, r.Pattern, r.Exists = f.Path, false, true
		e, err := newEntry(r)
		if err != nil {
			return fileTable{}, err
		}
		t.found = append(t.found, e)
	}
	return t, nil
}

// ordered sorts entries from shallow to deep and drops repetitions.
func ordered(entries []entry) []entry {
	slices.SortStableFunc(entries, byDepth)
	return slices.CompactFunc(entries, func(a, b entry) bool {
		return a.Kind == b.Kind && a.Path == b.Path && a.Final == b.Final && a.Exact == b.Exact && a.Spelled == b.Spelled
	})
}

func byDepth(a, b entry) int {
	return cmp.Or(
		cmp.Compare(depth(a.base()), depth(b.base())),
		cmp.Compare(rank(a), rank(b)),
		cmp.Compare(a.base(), b.base()),
		cmp.Compare(a.Path, b.Path),
		cmp.Compare(a.Spelled, b.Spelled),
		compareBool(a.Exact, b.Exact),
		compareBool(a.Final, b.Final),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// rank orders entries of equal depth: what is denied first, patterns behind
// literal entries.
func rank(e entry) int {
	kinds := []policy.FileKind{policy.DenyRead, policy.DenyWrite, policy.Protect, policy.AllowRead, policy.AllowWrite}
	r := slices.Index(kinds, e.Kind)
	if e.glob != nil {
		r += len(kinds)
	}
	return r
}

func newEntry(r policy.FileRule) (entry, error) {
	if r.Pattern {
		if err := pathFault(r.Path); err != nil {
			return entry{}, ruleError(r, err.Error())
		}
		g, err := newGlob(r.Path, r.Kind != policy.AllowRead && r.Kind != policy.Socket)
		if err != nil {
			return entry{}, ruleError(r, err.Error())
		}
		return entry{FileRule: r, glob: &g}, nil
	}
	e := entry{FileRule: r, path: canonical(r.Path)}
	if err := pathFault(r.Path); err != nil {
		return entry{}, ruleError(r, err.Error())
	}
	return e, nil
}

// ruleError names the entry as the user wrote it, and where.
func ruleError(r policy.FileRule, fault string) error {
	text := r.Rule.Text
	if text == "" {
		text = r.Path
	}
	if where := r.Rule.Origin; where != (policy.Origin{}) {
		return fmt.Errorf("%s: %s %q: %s", where, r.Kind, text, fault)
	}
	return fmt.Errorf("%s %q: %s", r.Kind, text, fault)
}

// rootOf is the outermost write root that holds p; empty when none does.
func (t fileTable) rootOf(p string) string {
	for _, w := range t.outer {
		if within(p, w) {
			return w
		}
	}
	return ""
}

// rootsWithin lists the outermost write roots beneath p, or p itself where it
// lies in one.
func (t fileTable) rootsWithin(p string) []string {
	if t.rootOf(p) != "" {
		return []string{p}
	}
	var out []string
	for _, w := range t.outer {
		if within(w, p) {
			out = append(out, w)
		}
	}
	return out
}

// touchesRoots says whether something beneath p may be written.
func (t fileTable) touchesRoots(p string) bool { return len(t.rootsWithin(p)) > 0 }

// filters are the entry as filters, in every spelling the kernel may compare.
func (e entry) filters() []string {
	if e.glob != nil {
		return []string{regex(e.glob.regex(e.Exact))}
	}
	return each(e.area(), e.spellings())
}

func (e entry) area() func(string) string {
	if e.Exact {
		return literal
	}
	return subpath
}

// spellings are the canonical path in each normal form, then the spelling
// before links were followed: a library's path is also judged as it was asked
// for. A permission gets only what the kernel resolves to.
func (e entry) spellings() []string {
	out := forms(e.path)
	raw := e.Spelled
	if e.Kind != policy.DenyRead || raw == "" || pathFault(raw) != nil {
		return out
	}
	for _, s := range []string{canonical(raw), raw} {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
