package policy

import (
	"fmt"
	"slices"
	"strings"
)

// protect lays the table over every write root, repository and the home
// directory. Rows outside every write root are left out: nothing is writable there.
func (b *builder) protect(repos []repo) error {
	roots := b.writeRoots()
	for _, row := range ProtectedPaths() {
		for _, dir := range b.rowDirs(row, roots, repos) {
			if err := b.protectAt(row, join(dir, row.Path), roots); err != nil {
				return err
			}
		}
	}
	for _, r := range repos {
		if err := b.protectDotGit(r, roots); err != nil {
			return err
		}
	}
	for _, dir := range b.hookDirs(repos) {
		row := Protected{Path: dir, Group: "git", Reason: "core.hooksPath: git on the host runs every hook"}
		if err := b.protectAt(row, dir, roots); err != nil {
			return err
		}
	}
	for _, root := range outermost(roots) {
		if root.Dir {
			b.gitPatterns(join(escape(root.Path), "**/*.git"))
			b.dotGitPattern(root.Path)
		}
	}
	return nil
}

// protectDotGit holds the .git entry of a checkout when it is a file, or a link:
// what it leads to is a git directory, which has rows of its own.
func (b *builder) protectDotGit(r repo, roots []FileRule) error {
	if r.dotGit == "" {
		return nil
	}
	row := Protected{Path: ".git", Group: "git", Reason: reasonGitDir}
	if at := b.resolve(r.dotGit); at.dir() {
		for _, link := range at.Links {
			b.addLink(row.rule(r.dotGit), r.dotGit, link)
		}
		return nil
	}
	return b.protectAt(row, r.dotGit, roots)
}

// rule is the row as a rule for one place.
func (row Protected) rule(p string) FileRule {
	return FileRule{Kind: Protect, Final: row.Never, Birth: row.birth(),
		Rule: PathRule{Text: p, Path: p, Group: row.Group, Reason: row.Reason}}
}

// rowDirs are the directories that a row applies at.
func (b *builder) rowDirs(row Protected, roots []FileRule, repos []repo) []string {
	var dirs []string
	if row.Where&AtRoot != 0 {
		for _, r := range roots {
			if r.Dir {
				dirs = append(dirs, r.Path)
			}
		}
	}
	if row.Where&AtHome != 0 && b.host.Home != "" {
		dirs = append(dirs, b.host.Home)
	}
	if row.Where&AtSystem != 0 && near(roots, "/"+row.Path) {
		dirs = append(dirs, "/")
	}
	for _, r := range repos {
		if row.Where&AtRoot != 0 && r.work != "" {
			dirs = append(dirs, r.work)
		}
		if row.Where&AtGit != 0 {
			dirs = append(dirs, r.gits...)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// near says that a write root lies at, above or below p.
func near(roots []FileRule, p string) bool {
	return slices.ContainsFunc(roots, func(r FileRule) bool { return within(r.Path, p) || within(p, r.Path) })
}

// protectAt protects one place, unless the user named exactly that place in
// allowWrite. An allowWrite beneath it is refused: it would open part of what
// the row closes as a whole.
func (b *builder) protectAt(row Protected, p string, roots []FileRule) error {
	at := b.resolve(p)
	if !inRoots(roots, at) {
		return nil
	}
	for _, root := range roots {
		path, r := root.Path, root.Rule
		switch {
		case path == at.Path && row.Never, beneath(at.Path, path) && row.Never:
			return ruleError(AllowWrite, r, fmt.Sprintf("%q is never opened: %s", at.Path, row.Reason))
		case path == at.Path && !builtin(r):
			return nil
		case beneath(at.Path, path) && !builtin(r):
			return ruleError(AllowWrite, r, fmt.Sprintf("it lies in the protected %q (%s): name exactly that to open it", at.Path, row.Reason))
		}
	}
	b.denyAt(row.rule(p), p)
	return nil
}

// inRoots says that a place, or a link on the way to it, lies in a write root.
func inRoots(roots []FileRule, at place) bool {
	for _, root := range roots {
		for _, p := range append([]string{at.Path}, at.Links...) {
			if within(root.Path, p) {
				return true
			}
		}
	}
	return false
}

func (row Protected) birth() *Birth {
	if row.Birth == nil {
		return nil
	}
	return &Birth{Up: 1 + strings.Count(row.Path, "/"), Names: row.Birth}
}

// gitPatterns hold the git rows by name, for repositories that the bounded look
// did not reach or that appear during the run. In a submodule a branch cannot be
// called config or hooks then: its file has the same name as the configuration of
// a submodule called refs/heads, and who writes .gitmodules chooses that name.
func (b *builder) gitPatterns(git string) {
	for _, row := range gitRows() {
		for _, dir := range []string{git, git + "/worktrees/*", git + "/modules/**"} {
			rule := row.rule(dir + "/" + row.Path)
			rule.Path, rule.Pattern, rule.Rule.Pattern = rule.Rule.Path, true, true
			b.files = append(b.files, rule)
		}
	}
}

// dotGitPattern holds the .git entry of any checkout below root: whoever writes
// it says where git's configuration is.
func (b *builder) dotGitPattern(root string) {
	p := join(escape(root), "**/.git")
	b.files = append(b.files, FileRule{Kind: Protect, Path: p, Pattern: true, Exact: true, Birth: &Birth{},
		Rule: PathRule{Text: p, Path: p, Pattern: true, Group: "git", Reason: reasonGitDir}})
}

// outermost drops the roots that lie in another one.
func outermost(roots []FileRule) []FileRule {
	var outer []FileRule
	for _, r := range roots { // shallow first
		if !slices.ContainsFunc(outer, func(o FileRule) bool { return within(o.Path, r.Path) }) {
			outer = append(outer, r)
		}
	}
	return outer
}
