package darwin

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/gosrt/gosrt/policy"
)

// OnDisk returns the plan with every path spelled as the disk has it. A volume
// that ignores case finds ~/documents where Documents is, but a filter that says
// documents never matches: a denial would be open. Names that do not exist stay
// as they are. The given plan stays as it is too.
func OnDisk(p *policy.Plan, fs policy.FS) *policy.Plan {
	out := *p
	s := speller{fs: fs, names: map[string]map[string][]string{}}
	out.Files, out.Sockets = s.rules(p.Files), s.rules(p.Sockets)
	out.Found = slices.Clone(p.Found)
	for i := range out.Found {
		out.Found[i].Path = s.spell(out.Found[i].Path)
	}
	return &out
}

// speller asks the host once for each directory.
type speller struct {
	fs policy.FS
	// names are the names of a directory by their folded form.
	names map[string]map[string][]string
}

func (s speller) rules(files []policy.FileRule) []policy.FileRule {
	out := slices.Clone(files)
	for i := range out {
		if !out[i].Pattern {
			out[i].Path = s.spell(out[i].Path)
			continue
		}
		names := strings.Split(strings.TrimPrefix(out[i].Path, "/"), "/")
		n := slices.IndexFunc(names, isWild)
		if n <= 0 {
			continue
		}
		base := s.spell("/" + unescape(strings.Join(names[:n], "/")))
		out[i].Path = escapePattern(base) + "/" + strings.Join(names[n:], "/")
	}
	return out
}

func (s speller) spell(p string) string {
	at := ""
	for _, name := range relative(p, "/") {
		at += "/" + s.onDisk(at, name)
	}
	if at == "" {
		return p
	}
	return at
}

// onDisk is the name that dir has for name: itself, or the only one that differs
// in case or normal form alone, if the volume finds it by that name.
func (s speller) onDisk(dir, name string) string {
	if dir == "" {
		dir = "/"
	}
	byFold, read := s.names[dir]
	if !read {
		byFold = map[string][]string{}
		entries, _ := s.fs.ReadDir(dir) // unlistable: nothing is known, the name stays
		for _, e := range entries {
			byFold[foldKey(e.Name)] = append(byFold[foldKey(e.Name)], e.Name)
		}
		s.names[dir] = byFold
	}
	same := byFold[foldKey(name)]
	if len(same) != 1 || same[0] == name {
		return name
	}
	if _, err := s.fs.Lstat(strings.TrimSuffix(dir, "/") + "/" + name); err != nil {
		return name // the volume tells them apart
	}
	return same[0]
}

func foldKey(name string) string { return strings.ToLower(norm.NFC.String(name)) }
