package policy

import (
	"path"
	"slices"
	"strings"
)

// BuiltinName is what extends calls the built-in default policy.
const BuiltinName = "builtin"

// Builtin is the policy of a run without any policy file: credentials are
// hidden, the current directory is writable, /tmp is private, there is no
// network. Protected places inside the current directory are not listed here;
// Compile adds them to every policy.
//
// An empty Home hides nothing below "~". A current directory that holds the
// home directory, or is "/" or one of the system's, is not made writable; Load
// says so in a note.
func Builtin(v Vars, cwd string) Policy {
	p := Policy{Layers: []LayerInfo{{Layer: LayerBuiltin}}}
	for _, group := range hiddenPlaces {
		for _, text := range group.paths {
			if rule, ok := group.rule(text, v); ok {
				p.Filesystem.DenyRead = append(p.Filesystem.DenyRead, rule)
			}
		}
	}
	if path.IsAbs(cwd) && !holdsMany(cwd, v.Home) {
		p.Filesystem.AllowWrite = []PathRule{{
			Text: ".", Path: folder(cwd), Group: "cwd", Reason: "the project that the command works on",
		}}
	}
	return p
}

// holdsMany says that dir is no project: everybody's home directories are in it,
// or it is the system's, which matters to a root caller.
func holdsMany(dir, home string) bool {
	dir = folder(dir)
	return dir == "/" || path.IsAbs(home) && beneath(dir, folder(home)) || systemDir(dir)
}

// The system's own directories: those of systemTrees with all that is in them, and
// those of systemTops by themselves, since projects lie in /opt/app or /usr/src/app.
var (
	systemTrees = []string{"/etc", "/private/etc", "/boot", "/bin", "/sbin", "/lib", "/lib64", "/usr/bin", "/usr/sbin", "/usr/lib",
		"/usr/lib64", "/usr/libexec", "/usr/local/bin", "/usr/local/sbin", "/System", "/Library"}
	systemTops = []string{"/usr", "/usr/local", "/usr/share", "/var", "/var/lib", "/opt", "/srv", "/run"}
)

func systemDir(dir string) bool {
	return slices.Contains(systemTops, dir) ||
		slices.ContainsFunc(systemTrees, func(tree string) bool { return within(tree, dir) })
}

// folder folds "." and extra slashes.
func folder(dir string) string { return "/" + strings.Join(components(dir), "/") }

// cwdNote is what the user should know of the current directory; "" for a project.
func cwdNote(p Policy, v Vars, cwd string) string {
	writable := p.Filesystem.opensWriting(folder(cwd))
	switch {
	case !path.IsAbs(cwd):
		return ""
	case holdsMany(cwd, v.Home) && !writable:
		return "the current directory " + quoteCut(cwd) + " belongs to more than one project and is not writable; --allow-write . makes it so"
	case folder(cwd) == folder(v.Home) && writable:
		return "the current directory is the home directory: what is not protected there is writable"
	}
	return ""
}

// hiddenGroup is one row of the table of credential places.
type hiddenGroup struct {
	name, reason string
	paths        []string
	// empty shows an empty file instead: the tool that owns it reads it at every
	// start and gives up on "permission denied".
	empty bool
}

func (g hiddenGroup) rule(text string, v Vars) (PathRule, bool) {
	rule, err := expandPath(text, "/", v)
	if err != nil { // no home directory: nothing to hide there
		return PathRule{}, false
	}
	rule.Group, rule.Reason, rule.Empty = g.name, g.reason, g.empty
	return rule, true
}

// hiddenPlaces are the credential places that the built-in default hides. An
// allowRead entry at one or beneath it opens it.
var hiddenPlaces = []hiddenGroup{
	{name: "ssh", reason: "SSH keys", paths: []string{"~/.ssh"}},
	{name: "gnupg", reason: "OpenPGP keys", paths: []string{"~/.gnupg"}},
	{name: "aws", reason: "AWS credentials", paths: []string{"~/.aws"}},
	{name: "azure", reason: "Azure credentials", paths: []string{"~/.azure"}},
	{name: "gcloud", reason: "Google Cloud credentials", paths: []string{
		"~/.config/gcloud", "~/Library/Application Support/gcloud", "~/.boto", "~/.gsutil",
	}},
	{name: "kube", reason: "cluster credentials", paths: []string{
		"~/.kube", "~/.minikube/profiles", "~/.talos", "/etc/kubernetes", "/etc/rancher",
		"/run/secrets", "/var/run/secrets",
	}},
	{name: "docker", reason: "registry credentials", paths: []string{
		"~/.docker/config.json", "~/.docker/contexts", "~/.config/containers/auth.json",
	}, empty: true},
	{name: "cloud", reason: "cloud provider credentials", paths: []string{
		"~/.oci", "~/.config/doctl", "~/.config/hcloud", "~/.config/linode-cli", "~/.fly", "~/.bluemix",
		"~/.config/scw", "~/.config/rclone", "~/.s3cfg", "~/.wrangler", "~/.config/.wrangler", "~/.config/netlify",
		"~/.local/share/com.vercel.cli", "~/.config/heroku", "~/.databrickscfg", "~/.snowflake", "~/.snowsql",
		"~/.kaggle", "~/.cache/huggingface/token", "~/.huggingface/token", "~/.modal.toml",
	}},
	{name: "terraform", reason: "infrastructure credentials", paths: []string{
		"~/.terraform.d/credentials.tfrc.json", "~/.terraformrc", "~/.pulumi/credentials.json",
	}},
	{name: "vault", reason: "Vault token", paths: []string{"~/.vault-token"}},
	{name: "git-credentials", reason: "passwords for git remotes", paths: []string{
		"~/.git-credentials", "~/.config/git/credentials", "~/.netrc", "~/_netrc", "~/.authinfo", "~/.authinfo.gpg",
	}},
	{name: "gh", reason: "git hosting tokens", paths: []string{
		"~/.config/gh", "~/.config/glab-cli", "~/.config/hub", "~/.config/tea", "~/.config/github-copilot",
	}},
	{name: "package-tokens", reason: "publishing tokens of package registries", empty: true, paths: []string{
		"~/.npmrc", "~/.yarnrc.yml", "~/.bunfig.toml", "~/.cargo/credentials.toml", "~/.cargo/credentials",
		"~/.gem/credentials", "~/.bundle/config", "~/.config/pip/pip.conf", "~/.pip/pip.conf", "~/.pypirc",
		"~/.gradle/gradle.properties", "~/.composer/auth.json", "~/.config/composer/auth.json",
		"~/.config/pypoetry/auth.toml",
	}},
	{name: "package-tokens", reason: "publishing tokens of package registries", paths: []string{
		"~/.m2/settings-security.xml", "~/.config/hatch", "~/.nuget/NuGet", "~/.local/share/uv/credentials",
	}},
	{name: "database", reason: "database passwords", paths: []string{
		"~/.pgpass", "~/.my.cnf", "~/.mylogin.cnf", "~/.config/mongodb", "~/.dbshell", "~/.redisclirc",
	}},
	{name: "password-store", reason: "password stores and keyrings", paths: []string{
		"~/.password-store", "~/.local/share/keyrings", "~/.local/share/kwalletd", "~/.config/op", "~/.config/1Password",
		"~/.op", "~/.config/Bitwarden", "~/.config/Bitwarden CLI", "~/.config/keepassxc", "~/.config/sops", "~/.age",
		"~/Library/Keychains", "~/Library/Application Support/1Password",
	}},
	{name: "agent", reason: "logins of coding agents", paths: []string{
		"~/.claude/.credentials.json", "~/.codex/auth.json", "~/.gemini/oauth_creds.json",
		"~/.local/share/opencode/auth.json", "~/.cursor/auth.json", "~/.config/goose/secrets.yaml",
	}},
	{name: "browser", reason: "browser profiles hold sessions and passwords", paths: []string{
		"~/.mozilla", "~/.thunderbird", "~/.config/google-chrome", "~/.config/chromium", "~/.config/BraveSoftware",
		"~/.config/microsoft-edge", "~/.config/opera", "~/.config/vivaldi", "~/snap/firefox", "~/snap/chromium",
		"~/.var/app/org.mozilla.firefox", "~/.var/app/com.google.Chrome", "~/.librewolf",
		"~/Library/Application Support/Google/Chrome", "~/Library/Application Support/Firefox",
		"~/Library/Application Support/BraveSoftware", "~/Library/Application Support/Microsoft Edge",
		"~/Library/Safari", "~/Library/Cookies", "~/Library/Containers/com.apple.Safari",
	}},
	{name: "messages", reason: "sessions of messengers and mail", paths: []string{
		"~/.config/Signal", "~/.config/Slack", "~/.config/discord", "~/.local/share/TelegramDesktop",
		"~/Library/Messages", "~/Library/Mail", "~/Library/Application Support/Slack",
	}},
	{name: "history", reason: "shell and client histories hold typed secrets", paths: []string{
		"~/.bash_history", "~/.zsh_history", "~/.zhistory", "~/.histfile", "~/.sh_history", "~/.ash_history",
		"~/.local/share/fish/fish_history", "~/.python_history", "~/.node_repl_history", "~/.irb_history",
		"~/.psql_history", "~/.mysql_history", "~/.sqlite_history", "~/.rediscli_history", "~/.lesshst",
		"~/.zsh_sessions", "~/.bash_sessions", "~/.local/share/atuin",
	}},
	{name: "wallet", reason: "cryptocurrency wallets", paths: []string{
		"~/.bitcoin", "~/.ethereum/keystore", "~/.electrum", "~/.config/solana", "~/.foundry/keystores",
	}},
	{name: "kerberos", reason: "tickets and key tables", paths: []string{"/etc/krb5.keytab", "~/.k5login", "~/.krb5"}},
	{name: "vpn", reason: "keys of VPNs and networks", paths: []string{
		"/etc/wireguard", "/etc/openvpn", "/etc/ipsec.secrets", "/etc/NetworkManager/system-connections",
		"/etc/wpa_supplicant", "/var/lib/tailscale", "~/.config/tailscale",
	}},
	{name: "system", reason: "the system's own secrets, readable when root runs gosrt", paths: []string{
		"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
		"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key",
		"/etc/ssh/ssh_host_dsa_key", "/etc/ssl/private", "/etc/letsencrypt", "/etc/pki/tls/private",
		"/etc/master.passwd", "/var/lib/docker", "/var/lib/containerd", "/var/spool/cron", "/var/backups",
	}},
}
