package darwin

import (
	"path"
	"slices"
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// writeRules open the write roots. They stand before the reads, whose denials
// close writing too, and before writeDenials.
func (t fileTable) writeRules() []rule {
	devices := allow("file-write-data", "file-ioctl").on(all(
		vnodeType("CHARACTER-DEVICE"),
		oneOf(each(literal, []string{"/dev/dtracehelper", "/dev/null", "/dev/tty", "/dev/zero"})...)))
	// A hidden root is opened with the permission that shows it.
	open := slices.DeleteFunc(slices.Clone(t.outer), func(w string) bool { return t.hides(w, true) || t.reopens(w) })
	if len(open) == 0 {
		return []rule{devices}
	}
	return []rule{devices, allow(writeOps...).on(each(subpath, t.rootForms(open))...)}
}

// reopens says that p is a final root that writeDenials open again.
func (t fileTable) reopens(p string) bool {
	return slices.ContainsFunc(t.roots, func(r entry) bool { return r.Final && r.path == p && t.closed(p) })
}

// writeDenials close what the roots hold and the policy denies. Nothing opens
// anything behind them, except a final root (the run's own directories) against
// denials that do not lie inside it.
func (t fileTable) writeDenials() []rule {
	outside, inside := t.split()
	out := t.denials(outside)
	for _, r := range t.roots {
		if !t.reopens(r.path) {
			continue
		}
		out = append(out, allow(writeOps...).on(each(subpath, forms(r.path))...))
		for _, e := range slices.Concat(outside, t.reads) {
			if e.Kind == policy.AllowRead || e.Kind == policy.DenyRead && !e.Final {
				continue
			}
			if filters := e.strictlyBeneath(r.path); len(filters) > 0 {
				out = append(out, deny(writeOps...).on(filters...).because("write-protected", e.FileRule))
			}
		}
	}
	return append(out, t.denials(inside)...)
}

// split tells denials inside a final root from the others.
func (t fileTable) split() (outside, inside []entry) {
	for _, e := range t.writes {
		deepInside := slices.ContainsFunc(t.roots, func(r entry) bool {
			return r.Final && within(e.base(), r.path) && (e.base() != r.path || e.glob != nil)
		})
		if deepInside {
			inside = append(inside, e)
		} else {
			outside = append(outside, e)
		}
	}
	return outside, inside
}

// closed says whether a denial reaches p from above.
func (t fileTable) closed(p string) bool {
	return slices.ContainsFunc(t.writes, func(e entry) bool {
		return e.covers(p) || e.glob != nil && within(p, e.glob.base) && p != e.glob.base
	}) || t.hides(p, true)
}

// strictlyBeneath is what the entry says beneath dir and not of dir itself.
func (e entry) strictlyBeneath(dir string) []string {
	switch {
	case within(e.base(), dir) && (e.glob != nil || e.path != dir):
		return e.filters()
	case e.glob == nil || !within(dir, e.glob.base):
		return nil
	}
	var filters []string
	for _, re := range e.glob.beneath(dir, e.Exact) {
		filters = append(filters, regex(re))
	}
	return filters
}

// denials writes entries as rules: those that exist by their path, patterns by
// their regex, and names that may not exist yet in any case.
func (t fileTable) denials(entries []entry) []rule {
	var out []rule
	var folded []entry
	for _, e := range entries {
		switch {
		case !t.touchesRoots(e.base()):
			// Nothing is writable there.
		case e.anyCase() && t.rootOf(e.path) != "":
			folded = append(folded, e)
		default:
			out = append(out, deny(writeOps...).on(e.filters()...).because("write-protected", e.FileRule))
		}
	}
	out = foldSiblings(out)
	for _, exact := range []bool{false, true} {
		var names []foldName
		var rules []policy.FileRule
		for _, e := range folded {
			if e.Exact == exact {
				names = append(names, t.foldName(e.path))
				rules = append(rules, e.FileRule)
			}
		}
		if res := foldRegexes(names, exact); len(res) > 0 {
			out = append(out, deny(writeOps...).on(each(regex, res)...).because("write-protected", rules...))
		}
	}
	return out
}

// anyCase says that an entry must hold in every case of its letters. The kernel
// reports the disk's spelling of what exists, but a new name as it was typed.
// What exists and is denied cannot be created again in another case.
func (e entry) anyCase() bool {
	return e.glob == nil && !e.Link && (!e.Exists || e.Kind == policy.Protect)
}

// foldName is a path whose part beneath its write root is matched in any case.
type foldName struct{ parent, name string } // regexes

func (t fileTable) foldName(p string) foldName {
	w := t.rootOf(p)
	if p == w {
		return foldName{literalRegex(strings.TrimSuffix(path.Dir(p), "/")), literalRegex(path.Base(p))}
	}
	dir := literalRegex(strings.TrimSuffix(w, "/")) + anyForm(strings.TrimPrefix(path.Dir(p), strings.TrimSuffix(w, "/")))
	return foldName{strings.TrimSuffix(dir, "/"), anyForm(path.Base(p))}
}

// anyForm matches s in any case and Unicode normal form.
func anyForm(s string) string {
	fs := each(foldRegex, forms(s))
	if len(fs) == 1 {
		return fs[0]
	}
	return "(" + strings.Join(fs, "|") + ")"
}

// foldRegexes joins names into few regexes: directories that hold the same
// names share one.
func foldRegexes(names []foldName, exact bool) []string {
	byParent := map[string][]string{}
	for _, n := range names {
		byParent[n.parent] = append(byParent[n.parent], n.name)
	}
	byNames := map[string][]string{}
	for parent, ns := range byParent {
		key := strings.Join(sorted(ns), "\x00")
		byNames[key] = append(byNames[key], parent)
	}
	end := "(/.*)?$"
	if exact {
		end = "$"
	}
	var out []string
	for key, parents := range byNames {
		for _, ps := range chunks(sorted(parents)) {
			for _, ns := range chunks(strings.Split(key, "\x00")) {
				out = append(out, "^"+group(ps)+"/"+group(ns)+end)
			}
		}
	}
	return sorted(out)
}

func group(alternatives []string) string {
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	return "(" + strings.Join(alternatives, "|") + ")"
}

// chunks cuts a list so that two of its pieces fit into one quoted regex.
func chunks(values []string) [][]string {
	const most = maxLiteral/2 - 16
	var out [][]string
	size := most
	for _, v := range values {
		n := len(quote(v)) + 1
		if size+n > most {
			out = append(out, nil)
			size = 0
		}
		size += n
		out[len(out)-1] = append(out[len(out)-1], v)
	}
	return out
}
