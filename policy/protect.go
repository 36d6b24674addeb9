package policy

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
	rows := make([]Protected, 0, 192) // more than there are
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
