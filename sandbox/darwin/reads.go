package darwin

import (
	"slices"

	"github.com/gosrt/gosrt/policy"
)

// What a hidden place refuses. Writing and linking are part of it: what cannot be
// read cannot be written, and a link would be a second name.
var (
	readOps  = []string{"file-read*", "process-exec*"}
	writeOps = []string{"file-write*", "file-link"}
)

// readRules decide reading. The last rule that matches wins, so entries go from
// shallow to deep, a permission behind a denial of the same place, and entries
// that nothing of the user's may override behind all others.
//
// A pattern stands at the depth of its base. Where a literal entry lies deeper,
// what the pattern matches strictly beneath that entry is written again behind
// it: there the pattern's match is the more specific one. Where a permission and
// a denial are both patterns and meet, the permission ends at any deeper match of
// the denial.
func (t fileTable) readRules() []rule {
	out := []rule{allow("file-read*")}
	for _, final := range []bool{false, true} {
		patterns := t.readPatterns(final)
		for _, e := range t.reads {
			if e.Final == final && (e.Kind == policy.DenyRead || t.useful(e)) {
				out = append(out, t.readStep(e, patterns)...)
			}
		}
	}
	out = append(foldSiblings(out), t.passage()...)
	return out
}

func (t fileTable) readPatterns(final bool) []entry {
	return slices.DeleteFunc(slices.Clone(t.reads), func(e entry) bool { return e.glob == nil || e.Final != final })
}

// covers says whether the entry reaches p.
func (e entry) covers(p string) bool {
	switch {
	case e.glob == nil && e.Exact:
		return p == e.path
	case e.glob == nil:
		return within(p, e.path)
	case !within(p, e.glob.base):
		return false
	}
	return e.glob.matches(p) || !e.Exact && e.glob.matchesAbove(p)
}

// hides says whether a denial covers p, so that a permission there has a
// meaning. A final permission stands against final and other denials.
func (t fileTable) hides(p string, final bool) bool {
	return slices.ContainsFunc(t.reads, func(e entry) bool {
		return e.Kind == policy.DenyRead && (final || !e.Final) && e.covers(p)
	})
}

// useful says whether a permission can meet a denial.
func (t fileTable) useful(e entry) bool {
	if e.glob == nil {
		return t.hides(e.path, e.Final)
	}
	return slices.ContainsFunc(t.reads, func(d entry) bool {
		return d.Kind == policy.DenyRead && (e.Final || !d.Final) &&
			(within(d.base(), e.base()) || within(e.base(), d.base()))
	})
}

// readStep is one entry with what patterns say beneath it.
func (t fileTable) readStep(e entry, patterns []entry) []rule {
	if e.glob != nil {
		return t.readPattern(e, e.glob.regex(e.Exact), patterns)
	}
	out := t.read(e, e.filters())
	if e.Exact {
		return out
	}
	again := e.Kind == policy.DenyRead
	for _, p := range patterns {
		switch {
		case !within(e.path, p.glob.base) || e.path == p.glob.base:
			continue // its own rule stands behind this one, or says nothing here
		case p.Kind == policy.DenyRead && e.Kind == policy.DenyRead:
			continue
		case p.Kind == policy.AllowRead && !again:
			continue // nothing was denied behind it
		case p.Kind == policy.AllowRead && e.Kind == policy.DenyRead && p.glob.matches(e.path):
			out = append(out, t.read(p, e.filters())...) // the same place: the permission wins
			continue
		}
		for _, re := range p.glob.beneath(e.path, p.Exact) {
			out = append(out, t.readPattern(p, re, patterns)...)
			again = true
		}
	}
	return out
}

// readPattern writes one regex of a pattern entry; a permission ends where a
// denied pattern matches strictly beneath it.
func (t fileTable) readPattern(e entry, re string, patterns []entry) []rule {
	filter := regex(re)
	if e.Kind == policy.DenyRead {
		return t.read(e, []string{filter})
	}
	parts := []string{filter}
	for _, d := range patterns {
		if d.Kind == policy.DenyRead {
			for _, inner := range d.glob.beneathGlob(*e.glob) {
				parts = append(parts, not(regex(inner)))
			}
		}
	}
	return t.read(e, []string{all(parts...)})
}

// read writes the rules of one entry for the given filters.
func (t fileTable) read(e entry, filters []string) []rule {
	writes := t.touchesRoots(e.base()) || e.glob != nil && t.rootOf(e.base()) != ""
	if e.Kind == policy.DenyRead {
		r := deny(readOps...)
		if writes {
			r = deny(append(slices.Clone(readOps), writeOps...)...)
		}
		return []rule{r.on(filters...).because("hidden", e.FileRule)}
	}
	out := []rule{allow(readOps...).on(filters...)}
	if !writes || e.Final && t.reopens(e.path) {
		return out
	}
	roots := t.rootsWithin(e.base())
	if e.glob == nil {
		return append(out, allow(writeOps...).on(each(subpath, t.rootForms(roots))...))
	}
	inside := oneOf(each(subpath, t.rootForms(roots))...)
	return append(out, allow(writeOps...).on(each(func(f string) string { return all(f, inside) }, filters)...))
}

func (t fileTable) rootForms(paths []string) []string {
	var out []string
	for _, p := range paths {
		out = append(out, forms(p)...)
	}
	return out
}

// passage lets the command find its way: getcwd(3) and realpath(3) ask for the
// metadata of every directory above, a link on the way is read as metadata, and a
// program that meets a hidden place must be able to see that something is there.
// A leaf operation, so it is final and stands against every denial; it shows no
// content and no names.
func (t fileTable) passage() []rule {
	var paths []string
	for _, e := range t.reads {
		switch {
		case e.Kind == policy.DenyRead && e.glob == nil && e.Exists && e.path != "/":
			paths = append(paths, forms(e.path)...)
		case e.Kind == policy.AllowRead:
			paths = append(paths, t.way(e)...)
		}
	}
	for _, r := range t.roots {
		paths = append(paths, t.way(r)...)
	}
	out := t.floor()
	if paths = sorted(paths); len(paths) > 0 {
		out = append(out, allow("file-read-metadata").on(each(literal, paths)...))
	}
	return out
}

// floor is what no program runs without, where the root itself is hidden: the
// loader reads the root directory, and everything reads some devices.
func (t fileTable) floor() []rule {
	var out []rule
	if slices.ContainsFunc(t.reads, func(e entry) bool { return e.Kind == policy.DenyRead && e.path == "/" }) {
		out = append(out, allow("file-read*").on(literal("/")))
	}
	if t.hides("/dev/null", true) {
		out = append(out, allow("file-read*").on(all(vnodeType("CHARACTER-DEVICE"), oneOf(each(literal, readDevices)...))))
	}
	return out
}

// readDevices hold nothing of anybody's, and few programs run without them.
var readDevices = []string{"/dev/null", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero"}

// way is what is hidden of the way to an entry, also of the way that leads there
// through links.
func (t fileTable) way(e entry) []string {
	out := t.hiddenAbove(e.base())
	if raw := canonical(e.Spelled); e.glob == nil && pathFault(raw) == nil {
		if out = append(out, t.hiddenAbove(raw)...); t.hides(raw, true) {
			out = append(out, forms(raw)...)
		}
	}
	return out
}

func (t fileTable) hiddenAbove(p string) []string {
	var out []string
	for _, dir := range ancestors(p, "/") {
		if dir != "/" && t.hides(dir, true) {
			out = append(out, forms(dir)...)
		}
	}
	return out
}

// foldSiblings joins runs of equal denials into one rule with many filters.
// Which entry decided is then found by the path.
func foldSiblings(rules []rule) []rule {
	const fewest = 4
	var out []rule
	for i := 0; i < len(rules); {
		j := i + 1
		for j < len(rules) && sameShape(rules[i], rules[j]) {
			j++
		}
		if j-i < fewest {
			out = append(out, rules[i:j]...)
		} else {
			joined := rules[i]
			joined.filters, joined.entries = nil, nil
			for _, r := range rules[i:j] {
				joined.filters = append(joined.filters, r.filters...)
				joined.entries = append(joined.entries, r.entries...)
			}
			out = append(out, joined)
		}
		i = j
	}
	return out
}

func sameShape(a, b rule) bool {
	return !a.allow && !b.allow && a.why == b.why && slices.Equal(a.ops, b.ops) && len(a.filters) > 0 && len(b.filters) > 0
}
