package policy

import (
	"slices"
	"strings"
)

// scrubRow is one kind of variable that does not reach the command. Search paths
// (PYTHONPATH, LD_LIBRARY_PATH, CLASSPATH, NODE_PATH, PERL5LIB, RUBYLIB) are not
// among them: users set those for the command.
type scrubRow struct {
	names    []string
	prefixes []string // in any case
	// when restricts the row to some values; nil: every value.
	when   func(value string) bool
	reason string
}

const (
	runsCode   = "makes the program that reads it run code"
	gitRuns    = "makes git run a program"
	hostAgent  = "leads to an agent or service of the host"
	credential = "names a place of credentials"
	descriptor = "names descriptors that do not reach the command"
)

var scrubTable = []scrubRow{
	{prefixes: []string{"LD_", "_RLD"}, reason: "makes the loader load code"},
	{prefixes: []string{"DYLD_"}, reason: "makes the loader load code"},
	{names: []string{"GLIBC_TUNABLES", "GCONV_PATH", "GETCONF_DIR"}, reason: "changes what the C library does or loads"},
	{prefixes: []string{"MALLOC_"}, reason: "changes what the C library does or loads"},
	{names: []string{"OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES"}, when: notDevNull, reason: "makes OpenSSL load code"},

	{names: []string{"BASH_ENV", "ENV", "ZDOTDIR", "PROMPT_COMMAND", "PS4", "SHELLOPTS", "BASHOPTS"}, reason: "makes a shell run code at its start"},
	{prefixes: []string{"BASH_FUNC_"}, reason: "defines a shell function in place of a command"},
	{names: []string{"IFS", "CDPATH"}, reason: "changes what a shell script means"},

	{names: []string{"PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT", "PYTHONBREAKPOINT"}, reason: runsCode},
	{names: []string{"PYTHONWARNINGS"}, when: importsModule, reason: runsCode},
	{names: []string{"PERL5OPT", "PERL5DB", "PERL_MM_OPT", "PERL_MB_OPT", "RUBYOPT", "PHPRC", "PHP_INI_SCAN_DIR"}, reason: runsCode},
	{prefixes: []string{"LUA_INIT"}, reason: runsCode},
	{names: []string{"R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER"}, reason: runsCode},
	{names: []string{"NODE_OPTIONS", "NODE_REPL_EXTERNAL_MODULE", "BUN_OPTIONS"}, reason: runsCode},
	{names: []string{"NODE_EXTRA_CA_CERTS"}, reason: "adds certificate authorities"},
	{names: []string{"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "MAVEN_OPTS", "GRADLE_OPTS", "JAVA_OPTS"}, when: loadsJavaAgent, reason: "loads a Java agent"},
	{names: []string{"DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS"}, reason: runsCode},
	{prefixes: []string{"CORECLR_", "COR_PROFILER", "COR_ENABLE_PROFILING"}, reason: runsCode},
	{names: []string{"GOFLAGS"}, when: runsTool, reason: "makes go run a program with each tool"},
	{names: []string{"RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER"}, reason: "makes cargo run a program in place of the compiler"},
	{prefixes: []string{"CARGO_TARGET_"}, reason: "makes cargo run a program with each binary"},
	{names: []string{"MAKEFLAGS", "MFLAGS", "CARGO_MAKEFLAGS"}, when: holdsJobserver, reason: descriptor},
	{prefixes: []string{"npm_config_script_shell", "npm_config_shell", "npm_config_git", "npm_config_node_gyp", "npm_config_node_options"}, reason: "makes npm run a program"},

	{names: []string{"GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR",
		"GIT_SEQUENCE_EDITOR", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR"}, reason: gitRuns},
	{names: []string{"GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"}, reason: gitRuns},
	{prefixes: []string{"GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"}, reason: gitRuns},
	{names: []string{"GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"}, when: notDevNull, reason: gitRuns},
	{names: []string{"GIT_ALLOW_PROTOCOL"}, when: func(v string) bool { return slices.Contains(strings.Split(v, ":"), "ext") }, reason: gitRuns},

	{names: []string{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL", "GNOME_KEYRING_PID"}, reason: hostAgent},
	{names: []string{"DBUS_SESSION_BUS_ADDRESS", "DBUS_SESSION_BUS_PID", "DBUS_SYSTEM_BUS_ADDRESS", "DBUS_STARTER_ADDRESS",
		"DBUS_STARTER_BUS_TYPE", "AT_SPI_BUS_ADDRESS", "SESSION_MANAGER", "XDG_RUNTIME_DIR"}, reason: hostAgent},
	{names: []string{"DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST", "CONTAINERD_ADDRESS", "BUILDKIT_HOST", "PODMAN_HOST"}, reason: hostAgent},
	{names: []string{"DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XAUTHORITY", "PULSE_SERVER", "PIPEWIRE_REMOTE"}, reason: hostAgent},
	{names: []string{"TMUX", "TMUX_PANE", "STY", "KITTY_LISTEN_ON", "WEZTERM_UNIX_SOCKET", "ALACRITTY_SOCKET", "ZELLIJ",
		"NVIM", "NVIM_LISTEN_ADDRESS", "I3SOCK", "SWAYSOCK", "HYPRLAND_INSTANCE_SIGNATURE", "WSL_INTEROP"}, reason: hostAgent},
	{prefixes: []string{"VSCODE_IPC_HOOK", "VSCODE_GIT_"}, reason: hostAgent},
	{names: []string{"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "JOURNAL_STREAM"}, reason: descriptor},
	{names: []string{"GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"}, reason: "changes later steps of the CI job"},

	{names: []string{"KUBECONFIG", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
		"AZURE_CONFIG_DIR", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "KRB5CCNAME", "KRB5_KTNAME", "PGPASSFILE", "PGSERVICEFILE",
		"NETRC", "CURLOPT_NETRC_FILE", "GNUPGHOME", "PASSWORD_STORE_DIR", "VAULT_TOKEN_FILE", "CARGO_REGISTRIES_CREDENTIAL_PROVIDER"}, reason: credential},
	{names: []string{"SSLKEYLOGFILE"}, reason: "writes the keys of TLS connections to a file"},
	{prefixes: []string{"ACTIONS_ID_TOKEN_", "ACTIONS_RUNTIME_"}, reason: credential},
}

// scrubReason says why a variable is removed; "" keeps it.
func scrubReason(name, value string) string {
	for _, row := range scrubTable {
		if row.matches(name) && row.hits(name, value) {
			return row.reason
		}
	}
	if strings.HasPrefix(value, "() {") { // how bash before 4.3 exported functions (CVE-2014-6271)
		return "defines a shell function in place of a command"
	}
	return secretReason(name, value)
}

func (row scrubRow) matches(name string) bool {
	if slices.Contains(row.names, name) {
		return true
	}
	return slices.ContainsFunc(row.prefixes, func(prefix string) bool {
		return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
	})
}

// plainNames are the harmless names below a scrubbed prefix.
var plainNames = []string{"LD_LIBRARY_PATH", "MALLOC_ARENA_MAX"}

func (row scrubRow) hits(name, value string) bool {
	if slices.Contains(plainNames, name) {
		return false
	}
	if strings.HasPrefix(name, "CARGO_TARGET_") { // CARGO_TARGET_DIR is a place, CARGO_TARGET_<triple>_LINKER a compiler
		return strings.HasSuffix(name, "_RUNNER")
	}
	return row.when == nil || row.when(value)
}

func notDevNull(value string) bool { return value != "/dev/null" && value != "" }

// importsModule: a category with a dot in it is imported (warnings module).
func importsModule(value string) bool { return strings.Contains(value, ".") }

// loadsJavaAgent finds the options that load code, run a command or read more
// options from a file (java(1)).
func loadsJavaAgent(value string) bool {
	return slices.ContainsFunc([]string{
		"-javaagent", "-agentlib", "-agentpath", "-Xrun", "-Xbootclasspath", "--patch-module", "--upgrade-module-path",
		"OnError", "OnOutOfMemoryError", "-XX:Flags", "-XX:VMOptionsFile", "@",
	}, func(option string) bool { return strings.Contains(value, option) })
}

// runsTool finds -toolexec and -exec, with one dash or two.
func runsTool(value string) bool {
	return strings.Contains(value, "-toolexec") || strings.Contains(value, "-exec") || strings.Contains(value, "-overlay")
}

func holdsJobserver(value string) bool {
	return strings.Contains(value, "--jobserver") || strings.Contains(value, "--eval")
}
