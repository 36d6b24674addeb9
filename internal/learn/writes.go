package learn

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// need is one write that was refused, and what would open it.
type need struct {
	open   string // the path to open, which exists
	spell  string
	reason string
}

// systemDirs are never proposed: what is in them runs for everyone.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/boot", "/proc", "/sys", "/dev", "/run", "/var/lib", "/var/spool", "/var/run", "/opt", "/nix", "/gnu"}

// owners are the directories below home that hold one directory for each program:
// of a file deep in it, the program's directory is meant.
var owners = []string{".cache", ".config", ".local/share", ".local/state", "Library/Caches", "Library/Application Support"}

// shared directories are opened for no single file's sake.
var shared = []string{"/", "/tmp", "/var", "/var/tmp", "/var/cache", "/var/log", "/home", "/srv", "/mnt", "/media"}

func (f Facts) write(v policy.Violation) (need, string) {
	switch why := f.Closed(v.Target); {
	case v.Rule != "":
		return need{}, "denied by a rule: " + v.Rule
	case why != "":
		return need{}, why
	case v.Hint == "" || !path.IsAbs(v.Target):
		return need{}, v.Reason
	}
	for _, dir := range systemDirs {
		if within(dir, v.Target) {
			return need{}, "in a directory of the system"
		}
	}
	open := f.place(v.Target)
	if open == "" {
		return need{}, "not there yet, in a directory that many programs share: make it first and learn again"
	}
	return need{open, f.spell(open), reason(v, f.spell(v.Target))}, ""
}

// place is the narrowest existing place that opens target for good: a program's
// own directory, the file, or the nearest directory that is nobody else's.
func (f Facts) place(target string) string {
	if dir := f.program(target); dir != "" {
		if _, isDir := f.Exists(dir); isDir {
			return dir
		}
		return ""
	}
	if there, _ := f.Exists(target); there {
		return target
	}
	for dir := path.Dir(target); !slices.Contains(shared, dir) && dir != f.Home; dir = path.Dir(dir) {
		if _, isDir := f.Exists(dir); isDir {
			if f.isOwner(dir) || f.Closed(dir) != "" {
				return ""
			}
			return dir
		}
	}
	return ""
}

// program is the directory of one program that target lies in: ~/.cache/x of
// ~/.cache/x/a/b, ~/.x of ~/.x/a. Empty: none.
func (f Facts) program(target string) string {
	if f.Home == "" || !within(f.Home, target) {
		return ""
	}
	for _, owner := range owners {
		dir := path.Join(f.Home, owner)
		if within(dir, target) {
			return below(dir, target)
		}
	}
	if dir := below(f.Home, target); strings.HasPrefix(path.Base(dir), ".") {
		return dir
	}
	return ""
}

func (f Facts) isOwner(dir string) bool {
	return slices.ContainsFunc(owners, func(o string) bool { return dir == path.Join(f.Home, o) })
}

// below is the first directory beneath dir on the way to target, when target lies
// deeper than that; else empty.
func below(dir, target string) string {
	rest := strings.TrimPrefix(target, dir+"/")
	name, _, deeper := strings.Cut(rest, "/")
	if rest == target || !deeper {
		return ""
	}
	return path.Join(dir, name)
}

// many is from how many files of one directory the directory is proposed.
const many = 3

// mergeWrites drops what a wider entry covers, and replaces many files of one
// directory by the directory.
func (f Facts) mergeWrites(needs []need) []Entry {
	files, seen := map[string]int{}, map[string]bool{}
	for _, n := range needs {
		if !seen[n.open] {
			files[path.Dir(n.open)]++
			seen[n.open] = true
		}
	}
	for i, n := range needs {
		if dir := path.Dir(n.open); files[dir] >= many && f.asWhole(dir) {
			needs[i] = need{dir, f.spell(dir), fmt.Sprintf("%d places in it", files[dir])}
		}
	}
	var entries []Entry
	for _, n := range needs {
		if !slices.ContainsFunc(needs, func(o need) bool { return o.open != n.open && within(o.open, n.open) }) {
			entries = append(entries, Entry{Writes, n.spell, n.reason})
		}
	}
	return entries
}

// asWhole says that a directory may be opened for the sake of several files in it.
func (f Facts) asWhole(dir string) bool {
	return !slices.Contains(shared, dir) && dir != f.Home && !f.isOwner(dir) && !within(dir, f.Home) && f.Closed(dir) == ""
}

func within(dir, p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
