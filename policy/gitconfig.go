package policy

import (
	"path"
	"slices"
	"strings"
)

// maxIncludes is how many configuration files are followed for one repository.
const maxIncludes = 32

// hookDirs are the directories that core.hooksPath names, in any configuration
// file that git on the host would read for these repositories.
func (b *builder) hookDirs(repos []repo) []string {
	var dirs []string
	global := b.hooksPaths([]string{"/etc/gitconfig", join(b.host.Home, ".gitconfig"), join(b.host.Home, ".config/git/config")})
	for _, r := range repos {
		base := r.work // githooks(5): hooks run at the root of the work tree
		if base == "" && len(r.gits) > 0 {
			base = r.gits[0]
		}
		var files []string
		for _, git := range r.gits {
			files = append(files, join(git, "config"), join(git, "config.worktree"))
		}
		for _, p := range slices.Concat(global, b.hooksPaths(files)) {
			dirs = append(dirs, b.gitPath(p, base))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// hooksPaths reads every core.hooksPath from configuration files and what they
// include. A conditional include counts as if its condition held: it only closes more.
func (b *builder) hooksPaths(files []string) []string {
	var found []string
	for i := 0; i < len(files) && i < maxIncludes; i++ {
		if _, err := b.lstat(files[i]); err != nil {
			continue
		}
		text, err := b.fs.ReadFile(files[i])
		if err != nil {
			continue
		}
		found = append(found, gitConfig(text, "core", "hooksPath")...)
		for _, section := range []string{"include", "includeIf"} {
			for _, p := range gitConfig(text, section, "path") {
				files = append(files, b.gitPath(p, parent(files[i])))
			}
		}
	}
	return found
}

// gitPath is an absolute path for a value of git's type pathname (git-config(1)).
func (b *builder) gitPath(p, base string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		return join(b.host.Home, rest)
	}
	if path.IsAbs(p) {
		return p
	}
	return join(base, p)
}

// gitLines joins the lines that end in a backslash.
var gitLines = strings.NewReplacer("\r\n", "\n", "\\\r\n", "", "\\\n", "", "\ufeff", "")

// gitConfig lists the values of section.key in a git configuration file, in any
// subsection (git-config(1), "Syntax").
func gitConfig(text []byte, section, key string) []string {
	var values []string
	in := false
	for line := range strings.SplitSeq(gitLines.Replace(string(text)), "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			name, rest, _ := strings.Cut(line[1:], "]")
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			in = strings.EqualFold(name, section)
			line = strings.TrimSpace(rest)
		}
		k, v, ok := strings.Cut(line, "=")
		if v = unquoteGit(strings.TrimSpace(v)); in && ok && v != "" && strings.EqualFold(strings.TrimSpace(k), key) {
			values = append(values, v)
		}
	}
	return values
}

// unquoteGit reads a value as git does: quotes, escapes, and a comment at the end.
func unquoteGit(v string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(v):
			i++
			b.WriteByte(v[i])
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimRight(b.String(), " \t")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
