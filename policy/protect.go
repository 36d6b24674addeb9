package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Protected paths: places inside a write root that stay read-only, because a
// program on the host executes or obeys what is in them. The table is the only
// list; policy show prints it.

// Where says at which directories a protected row applies.
type Where int

const (
	AtRoot   Where = 1 << iota // every write root and every repository found
	AtHome                     // the home directory
	AtGit                      // every git directory, and by name any that appears
	AtSystem                   // the root of the file system
)

// Protected is one row of the table.
type Protected struct {
	Path   string // relative to the directories that Where names
	Where  Where
	Group  string
	Reason string
	// Never says that naming it in allowWrite does not open it.
	Never bool
	// Birth lists what git itself writes there in a new repository.
	Birth []string
}

const (
	reasonShell    = "a shell on the host runs it at start"
	reasonSession  = "the host's session or scheduler starts programs from it"
	reasonTool     = "a tool on the host runs commands named in it"
	reasonEditor   = "an editor on the host runs tasks named in it"
	reasonAgent    = "an agent on the host runs commands and tools named in it"
	reasonGit      = "git on the host runs programs named in it"
	reasonGitDir   = "git on the host takes it for the place of its configuration"
	reasonSecret   = "credentials: a change would redirect or replace them"
	reasonPath     = "it is early on PATH: a program here replaces the host's"
	reasonOwn      = "gosrt itself obeys it"
	reasonLauncher = "the desktop starts programs from it"
)

// ProtectedPaths is the table, in the order policy show prints it.
func ProtectedPaths() []Protected {
	var rows []Protected
	add := func(where Where, group, reason string, paths ...string) {
		for _, p := range paths {
			rows = append(rows, Protected{Path: p, Where: where, Group: group, Reason: reason})
		}
	}
	rows = append(rows, gitRows()...)
	rows = append(rows, Protected{Path: ".gosrt.toml", Where: AtRoot | AtHome, Group: "gosrt", Reason: reasonOwn, Never: true})
	add(AtRoot|AtHome, "shell-start", reasonShell, ".bashrc", ".bash_profile", ".bash_login", ".bash_logout",
		".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".envrc")
	add(AtHome, "shell-start", reasonShell, ".config/fish", ".config/bash", ".config/zsh", ".bash_aliases",
		".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc")
	add(AtRoot|AtHome, "editor", reasonEditor, ".vscode", ".idea", ".devcontainer", ".vimrc", ".exrc", ".nvimrc", ".nvim.lua",
		".dir-locals.el", ".zed", ".fleet")
	add(AtHome, "editor", reasonEditor, ".vim", ".config/nvim", ".emacs", ".emacs.d", ".config/emacs",
		".vscode-server", ".config/Code/User")
	add(AtRoot|AtHome, "agent", reasonAgent, ".mcp.json", ".claude/commands", ".claude/agents", ".claude/hooks", ".claude/skills",
		".claude/settings.json", ".claude/settings.local.json", ".cursor", ".codex", ".gemini", ".windsurf",
		".aider.conf.yml", ".continue", ".opencode")
	add(AtHome, "agent", reasonAgent, ".claude.json", ".claude/CLAUDE.md", ".config/opencode")
	add(AtRoot|AtHome, "tool", reasonTool, ".ripgreprc", ".husky", ".lefthook.yml", ".mise.toml")
	add(AtHome, "tool", reasonTool, ".config/mise", ".config/direnv", ".tmux.conf", ".config/tmux", ".screenrc",
		".gdbinit", ".config/gdb", ".lldbinit", ".psqlrc", ".sqliterc", ".pythonrc", ".irbrc", ".Rprofile",
		".cargo/config.toml", ".cargo/config", ".config/pip", ".config/go", ".gradle/init.d", ".m2/settings.xml", ".gradle/gradle.properties")
	add(AtHome, "git-home", reasonGit, ".gitconfig", ".config/git", ".git-templates")
	add(AtHome, "session", reasonSession, ".config/systemd", ".local/share/systemd", ".config/environment.d", ".pam_environment",
		".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".Xresources", ".dmrc",
		".config/autostart", ".config/cron", ".local/share/dbus-1", ".config/i3", ".config/sway", ".config/hypr")
	add(AtHome, "launcher", reasonLauncher, ".local/share/applications", ".config/mimeapps.list",
		".local/share/kio", ".local/share/gnome-shell", "Library/LaunchAgents", "Library/Application Scripts")
	add(AtHome, "bin", reasonPath, ".local/bin", "bin", ".cargo/bin", "go/bin", ".bun/bin", ".deno/bin",
		".pyenv/shims", ".rbenv/shims", ".asdf/shims", ".local/share/mise/shims", ".npm-global/bin", ".volta/bin")
	add(AtHome, "credentials", reasonSecret, ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud",
		".config/gh", ".config/containers", "Library/Application Support/gcloud", "Library/Keychains", ".password-store",
		".local/share/keyrings", ".git-credentials", ".netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc",
		".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".terraform.d", ".terraformrc", ".vault-token")
	add(AtSystem, "system", reasonSession, "etc/crontab", "etc/cron.d", "etc/cron.hourly", "etc/cron.daily",
		"etc/cron.weekly", "etc/cron.monthly", "var/spool/cron", "var/spool/at", "etc/systemd", "etc/profile.d", "etc/profile",
		"etc/bash.bashrc", "etc/environment", "etc/ld.so.preload", "etc/ld.so.conf", "etc/ld.so.conf.d", "etc/pam.d", "etc/sudoers",
		"etc/sudoers.d", "etc/xdg/autostart", "etc/gosrt", "Library/LaunchAgents", "Library/LaunchDaemons")
	return rows
}

// gitRows are relative to a git directory.
func gitRows() []Protected {
	return []Protected{
		{Path: "hooks", Where: AtGit, Group: "git", Reason: "git on the host runs every hook", Never: true,
			Birth: []string{"hooks", "hooks/*.sample"}},
		{Path: "config", Where: AtGit, Group: "git", Reason: reasonGit, Birth: []string{"config"}},
		{Path: "config.worktree", Where: AtGit, Group: "git", Reason: reasonGit, Birth: []string{"config.worktree"}},
		{Path: "commondir", Where: AtGit, Group: "git", Reason: reasonGitDir, Birth: []string{"commondir"}},
		{Path: "gitdir", Where: AtGit, Group: "git", Reason: reasonGitDir, Birth: []string{"gitdir"}},
		{Path: "info/attributes", Where: AtGit, Group: "git", Reason: "it wires files to filters that git on the host runs"},
	}
}

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
			dirs = append(dirs, r.Path)
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
// did not reach or that appear during the run.
func (b *builder) gitPatterns(git string) {
	for _, row := range gitRows() {
		for _, dir := range []string{git, git + "/worktrees/*", git + "/modules/**"} {
			rule := row.rule(dir + "/" + row.Path)
			rule.Path, rule.Pattern, rule.Rule.Pattern = rule.Rule.Path, true, true
			rule.Unless = []string{"refs", "logs"} // a branch may be called config
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
