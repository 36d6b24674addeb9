package policy

import (
	"path"
	"slices"
	"strings"
)

// Bounds of the look for repositories inside a write root. What lies deeper is
// held by name (see gitPatterns); the cost of a start must not grow with the tree.
const (
	lookDirs  = 24      // directories listed for each root
	lookNames = 128     // names looked at for each root
	lookDepth = 2       // levels below the root
	lookSize  = 1 << 18 // bytes of a directory; a larger one is not listed
)

// repo is one repository found in or around a write root.
type repo struct {
	work string // the checkout; empty for a bare repository
	// dotGit is the .git entry of the checkout when it is a file or a link.
	dotGit string
	gits   []string // git directories: the own one, the common one, modules, worktrees
	// linked is the common git directory of a linked worktree or the git
	// directory of a submodule, when it points back at this checkout.
	linked []string
}

// repositories finds the repositories in and around the write roots.
func (b *builder) repositories() []repo {
	var repos []repo
	seen := map[string]bool{}
	look := func(dir string) {
		if !seen[dir] {
			seen[dir] = true
			if r, ok := b.repoAt(dir); ok {
				repos = append(repos, r)
			}
		}
	}
	for _, root := range b.writeRoots() {
		for dir := root.Path; ; dir = parent(dir) {
			look(dir)
			if dir == "/" {
				break
			}
		}
		for _, dir := range b.dirsNear(root.Path) {
			look(dir)
		}
	}
	return repos
}

// dirsNear lists directories a few levels below root, breadth first and bounded.
func (b *builder) dirsNear(root string) []string {
	var dirs []string
	names, listed := 0, 0
	level := []string{root}
	for range lookDepth {
		var next []string
		for _, dir := range level {
			if listed++; listed > lookDirs {
				break
			}
			entries := b.list(dir) // unlistable: the names are held by the guard
			slices.SortFunc(entries, func(a, c DirEntry) int { return strings.Compare(a.Name, c.Name) })
			for _, e := range entries {
				if !e.Type.IsDir() || e.Name == "node_modules" || e.Name == ".git" {
					continue
				}
				if names++; names > lookNames {
					return append(dirs, next...)
				}
				next = append(next, join(dir, e.Name))
			}
		}
		dirs = append(dirs, next...)
		level = next
	}
	return dirs
}

// repoAt reads what git would take dir for.
func (b *builder) repoAt(dir string) (repo, bool) {
	dotGit := join(dir, ".git")
	info, err := b.lstat(dotGit)
	switch {
	case err != nil && b.isGitDir(dir):
		return repo{gits: b.gitFamily(dir)}, true
	case err != nil:
		return repo{}, false
	}
	r := repo{work: dir}
	if !info.Mode.IsDir() {
		r.dotGit = dotGit
	}
	at := b.resolve(dotGit)
	if at.Exists && !at.Loop && !at.dir() {
		at = b.pointer(at.Path, "gitdir: ")
		if b.pointsBack(dir, at.Path) {
			r.linked = append(r.linked, at.Path)
			if common := b.common(at.Path); common != "" && within(join(common, "worktrees"), at.Path) {
				r.linked = append(r.linked, common)
			}
		}
	}
	if at.dir() {
		r.gits = b.gitFamily(at.Path)
	}
	return r, true
}

// isGitDir is git's own test (setup.c, is_git_directory).
func (b *builder) isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := b.lstat(join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// pointer resolves the path that a one-line file of git's names, relative to the
// file's directory. A file that cannot be read leads nowhere.
func (b *builder) pointer(file, prefix string) place {
	text, err := b.fs.ReadFile(file)
	target, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), prefix)
	if err != nil || !ok || target == "" || strings.Contains(target, "\x00") {
		return place{}
	}
	if !path.IsAbs(target) {
		target = join(parent(file), target)
	}
	return b.resolve(target)
}

func (b *builder) common(git string) string {
	file := join(git, "commondir")
	if _, err := b.lstat(file); err != nil {
		return ""
	}
	if at := b.pointer(file, ""); at.dir() {
		return at.Path
	}
	return ""
}

// pointsBack says that a git directory outside names the checkout as its own. A
// .git file is the checkout's word alone: the command could have written it, and
// following it would open whatever repository it names.
func (b *builder) pointsBack(work, git string) bool {
	if git == "" {
		return false
	}
	if at := b.pointer(join(git, "gitdir"), ""); at.Path != "" {
		return at.Path == join(work, ".git")
	}
	config, err := b.fs.ReadFile(join(git, "config"))
	if err != nil {
		return false
	}
	trees := gitConfig(config, "core", "worktree")
	if len(trees) == 0 {
		return false
	}
	tree := trees[len(trees)-1] // the last one counts
	if !path.IsAbs(tree) {
		tree = join(git, tree)
	}
	return b.resolve(tree).Path == work
}

// gitFamily is a git directory with its common one and those of its submodules
// and worktrees.
func (b *builder) gitFamily(git string) []string {
	family := []string{git}
	b.list(git) // many rows name places in it
	if common := b.common(git); common != "" && common != git {
		family = append(family, common)
	}
	for _, g := range slices.Clone(family) {
		family = append(family, b.children(join(g, "worktrees"), 1)...)
		family = append(family, b.children(join(g, "modules"), 3)...)
	}
	return family
}

// children lists git directories below modules or worktrees; a submodule's name
// may hold slashes.
func (b *builder) children(dir string, levels int) []string {
	if levels == 0 {
		return nil
	}
	var gits []string
	entries := b.list(dir)
	for _, e := range entries[:min(len(entries), lookNames)] {
		child := join(dir, e.Name)
		_, err := b.lstat(join(child, "HEAD"))
		switch {
		case !e.Type.IsDir():
		case err == nil:
			gits = append(gits, child)
			gits = append(gits, b.children(join(child, "modules"), levels-1)...)
		default:
			gits = append(gits, b.children(child, levels-1)...)
		}
	}
	return gits
}

// grantWorktree opens the git directories outside a checkout that is a write
// root: without its objects, refs and index, git cannot commit in a linked
// worktree. Their configuration and hooks stay protected.
func (b *builder) grantWorktree(repos []repo) {
	for _, r := range repos {
		for _, root := range b.writeRoots() {
			if root.Path != r.work {
				continue
			}
			for _, git := range r.linked {
				b.add(FileRule{Kind: AllowWrite, Rule: PathRule{Text: root.Rule.Text, Path: git, Origin: root.Rule.Origin,
					Group: "git", Reason: "the git directory of this worktree"}}, git, b.resolve(git))
			}
		}
	}
}
