package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func environTest(p Policy, proxy ProxyEnv, caller ...string) (map[string]string, map[string]EnvChange) {
	env, list := Environ(p, Host{Home: "/home/u", Env: caller}, proxy)
	values, changes := map[string]string{}, map[string]EnvChange{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if _, twice := values[name]; twice {
			panic("twice: " + name)
		}
		values[name] = value
	}
	for _, change := range list {
		changes[change.Name] = change
	}
	return values, changes
}

// removedAlways is what no mode lets through. The control is pass, below.
var removedAlways = []string{
	"LD_PRELOAD=/x.so", "LD_AUDIT=/x.so", "ld_preload=x", "LD_DEBUG=all", "DYLD_INSERT_LIBRARIES=x", "dyld_library_path=x",
	"GLIBC_TUNABLES=x", "MALLOC_CHECK_=3", "GCONV_PATH=/x", "OPENSSL_CONF=/x",
	"BASH_ENV=/x", "ENV=/x", "ZDOTDIR=/x", "PROMPT_COMMAND=x", "PS4=$(x)", "SHELLOPTS=xtrace", "BASH_FUNC_ls%%=() { x; }", "IFS=x", "OLDSTYLE=() { x; }",
	"NODE_OPTIONS=--require /x", "PYTHONSTARTUP=/x", "PYTHONHOME=/x", "PYTHONBREAKPOINT=os.system", "PYTHONWARNINGS=all:0:antigravity.x:0:0",
	"PERL5OPT=-Mx", "PERL5DB=x", "RUBYOPT=-rx", "LUA_INIT_5_4=@x", "R_PROFILE_USER=/x",
	"JAVA_TOOL_OPTIONS=-javaagent:/x.jar", "_JAVA_OPTIONS=-XX:OnError=x", "JDK_JAVA_OPTIONS=@/x", "MAVEN_OPTS=-agentpath:/x",
	"DOTNET_STARTUP_HOOKS=/x", "CORECLR_PROFILER_PATH=/x", "GOFLAGS=-toolexec=/x", "GOFLAGS=-mod=mod --exec=/x", "RUSTC_WRAPPER=/x",
	"CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=/x", "NPM_CONFIG_SCRIPT_SHELL=/x", "npm_config_node_options=x", "MAKEFLAGS= -j --jobserver-auth=3,4",
	"GIT_SSH_COMMAND=x", "GIT_SSH=x", "GIT_EXTERNAL_DIFF=x", "GIT_ASKPASS=x", "SSH_ASKPASS=x", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.pager",
	"GIT_CONFIG_VALUE_0=x", "GIT_CONFIG_PARAMETERS='core.pager'='x'", "GIT_CONFIG_GLOBAL=/x", "GIT_EXEC_PATH=/x", "GIT_TEMPLATE_DIR=/x", "GIT_ALLOW_PROTOCOL=https:ext",
	"SSH_AUTH_SOCK=/x", "DBUS_SESSION_BUS_ADDRESS=unix:path=/x", "DOCKER_HOST=unix:///x", "GPG_AGENT_INFO=/x", "XDG_RUNTIME_DIR=/run/user/1",
	"DISPLAY=:0", "TMUX=/tmp/x,1,0", "VSCODE_IPC_HOOK_CLI=/x", "WSL_INTEROP=/x", "LISTEN_FDS=1", "GITHUB_ENV=/x", "KUBECONFIG=/x",
	"GOOGLE_APPLICATION_CREDENTIALS=/x", "AWS_SHARED_CREDENTIALS_FILE=/x", "SSLKEYLOGFILE=/x",
}

func TestEnvironScrubs(t *testing.T) {
	for _, entry := range removedAlways {
		name, _, _ := strings.Cut(entry, "=")
		values, changes := environTest(Policy{}, ProxyEnv{}, entry, "PATH=/bin")
		if _, there := values[name]; there {
			t.Errorf("%s reached the command", entry)
		}
		change := changes[name]
		if change.Op != EnvRemoved || change.Reason == "" || change.Value != "" {
			t.Errorf("%s: change %+v", entry, change)
		}
		if values["PATH"] != "/bin" {
			t.Errorf("%s: PATH lost", entry)
		}
		kept, _ := environTest(Policy{Env: Env{Pass: []EnvRule{{Name: name}}}}, ProxyEnv{}, entry)
		if _, there := kept[name]; !there {
			t.Errorf("%s: pass does not keep it", entry)
		}
	}
}

// What users set for their commands stays.
func TestEnvironKeeps(t *testing.T) {
	for _, entry := range []string{
		"PYTHONPATH=/x", "LD_LIBRARY_PATH=/x", "CLASSPATH=/x", "NODE_PATH=/x", "PERL5LIB=/x", "RUBYLIB=/x", "GOPATH=/x", "GOFLAGS=-mod=vendor",
		"GOPROXY=off", "MALLOC_ARENA_MAX=2", "JAVA_TOOL_OPTIONS=-Xmx1g", "MAVEN_OPTS=-Xmx1g", "PYTHONWARNINGS=error", "CARGO_TARGET_DIR=/x",
		"CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=clang", "MAKEFLAGS=-j4", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=x", "GIT_DIR=/x",
		"GIT_TERMINAL_PROMPT=0", "EDITOR=vi", "PAGER=less", "CC=clang", "OPENSSL_CONF=/dev/null", "NODE_ENV=test", "LESSOPEN=| x",
	} {
		name, value, _ := strings.Cut(entry, "=")
		values, changes := environTest(Policy{}, ProxyEnv{}, entry)
		if values[name] != value || len(changes) > 0 {
			t.Errorf("%s: became %q, changes %v", entry, values[name], changes)
		}
	}
}

func TestSecretReason(t *testing.T) {
	for _, entry := range []string{
		"GITHUB_TOKEN=x1", "GH_TOKEN=x", "NPM_TOKEN=x", "GHTOKEN=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_ACCESS_KEY_ID_SECRET=x", "AWS_SESSION_TOKEN=x",
		"OPENAI_API_KEY=x", "OPENAI_KEY=x", "apikey=x", "MY-API-KEY=x", "DB_PASSWORD=1234", "PGPASSWORD=x", "MYSQL_PWD=x", "DB_PASS=x", "passwd=x",
		"SSH_PASSPHRASE=x", "CLIENT_SECRET=x", "SECRET=x", "SECRET_KEY_BASE=x", "AZURE_DEVOPS_EXT_PAT=x", "SENTRY_DSN=x", "NPM_AUTH=x",
		"npm_config__auth=x", "npm_config_//host.test/:_authToken=x", "ANSIBLE_VAULT_PASSWORD_FILE=/x", "SLACK_WEBHOOK_URL=x", "SESSION_COOKIE=x",
		"AZURE_STORAGE_CONNECTION_STRING=x", "PULUMI_CREDENTIALS=x", "DEPLOY_PIN=1234", "TF_VAR_db_password=x", "PRIVATE_KEY=x", "TOKEN_SECRET=true1",
		"DATABASE_URL=postgres://u:p@db.test/x", "X=-----BEGIN OPENSSH PRIVATE KEY-----", "Y=ghp_0123456789abcdefghijklmnopqrstuvwxyz",
		"Z=https://a.test,https://u:p@b.test", "W=xoxb-0123456789-0123456789", "PASSWORD_MAX=123", "AUTH_TOKEN=123456", "LOGIN_PIN=1234", "SIGNING_KEY=42",
	} {
		name, value, _ := strings.Cut(entry, "=")
		if secretReason(name, value) == "" {
			t.Errorf("%s is kept", entry)
		}
	}
	for _, entry := range []string{
		"PWD=/work", "OLDPWD=/work", "INIT_CWD=/x", "KEYBOARD=de", "KEYMAP=de", "MONKEY=x", "XDG_SESSION_ID=1", "XDG_SESSION_TYPE=tty", "SESSION=x",
		"DESKTOP_SESSION=gnome", "SSH_CONNECTION=a b c d", "SSH_TTY=/dev/pts/1", "SSH_CLIENT=x", "TOKENIZERS_PARALLELISM=false", "MAX_TOKENS=4096",
		"NUM_TOKENS=12", "USE_AUTH=true", "SORT_KEY=name", "CACHE_KEY=abc", "SIGNING_PUBLIC_KEY=x", "GPG_KEY_ID=x", "AUTHOR=x", "AUTHORITY=x",
		"PATH=/bin", "COMPASS=n", "BYPASS_CHECKS=yes", "PASSENGER_APP_ENV=x", "PATTERN=x", "SHIPPING=x", "SPIN=x", "TERM_SESSION_ID=x",
		"COMPOSE_PROJECT_NAME=x", "KEYS_DIR=/x", "URL=https://a.test/x:y@z", "EMAIL=u@x.test", "GIT_SSH_VARIANT=ssh", "HOME=/home/u", "SECRET=",
		"DATABASE_URL=postgres://u@db.test/x", "X=sk-short", "OTPROOT=/x", "PYTHONHASHSEED=0", "TOKEN=", "LANG=de_DE.UTF-8", "SASS_PATH=/x", "PAT_ROOT=/x",
	} {
		name, value, _ := strings.Cut(entry, "=")
		if why := secretReason(name, value); why != "" {
			t.Errorf("%s is removed: %s", entry, why)
		}
	}
}

func TestEnvironMinimal(t *testing.T) {
	p := Policy{Env: Env{Minimal: true, Pass: []EnvRule{{Name: "EDITOR"}}}}
	values, changes := environTest(p, ProxyEnv{}, "PATH=/bin", "HOME=/h", "LC_ALL=C", "TERM=xterm", "EDITOR=vi", "CUSTOM=x", "LD_PRELOAD=x", "XLC_=1")
	want := map[string]string{"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "TERM": "xterm", "EDITOR": "vi"}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Error(diff)
	}
	if changes["CUSTOM"].Op != EnvRemoved || len(changes) != 3 {
		t.Errorf("changes: %v", changes)
	}
}

func TestEnvironOrder(t *testing.T) {
	p := Policy{Env: Env{
		Unset: []EnvRule{{Name: "A"}, {Name: "B"}, {Name: "HTTP_PROXY"}},
		Set:   []EnvRule{{Name: "B", Value: "set"}, {Name: "GIT_SSH_COMMAND", Value: "mine"}, {Name: "TMPDIR", Value: "/mine"}, {Name: "B", Value: "again"}},
	}}
	proxy := ProxyEnv{HTTPPort: 3128, SOCKSPort: 1080, TmpDir: "/tmp/run", SSHProxyCommand: "connect %h %p"}
	values, changes := environTest(p, proxy, "A=1", "B=1", "DUP=1", "DUP=2", "NOVALUE", "=bad", "SAME=1", "TMP=/old", "https_proxy=http://host:1")
	for name, want := range map[string]string{
		"B": "again", "GIT_SSH_COMMAND": "mine", "TMPDIR": "/mine", "TMP": "/tmp/run", "TEMP": "/tmp/run", "DUP": "2", "SAME": "1",
		"https_proxy": "http://127.0.0.1:3128",
	} {
		if values[name] != want {
			t.Errorf("%s = %q, want %q", name, values[name], want)
		}
	}
	for _, name := range []string{"A", "HTTP_PROXY", "NOVALUE", ""} {
		if _, there := values[name]; there {
			t.Errorf("%q is there", name)
		}
	}
	if _, changed := changes["SAME"]; changed || changes["A"].Op != EnvRemoved || changes["TMP"].Op != EnvSet {
		t.Errorf("changes: %v", changes)
	}
	names := make([]string, 0)
	_, list := Environ(p, Host{Env: []string{"A=1"}}, proxy)
	for _, change := range list {
		names = append(names, change.Name)
	}
	if !slices.IsSorted(names) {
		t.Errorf("changes are not sorted: %v", names)
	}
}

// The host's proxy, which may have a password in its URL, never reaches the command.
func TestEnvironDropsTheHostsProxy(t *testing.T) {
	const upstream = "http://user:pass@proxy.corp.test:3128"
	var caller []string
	for _, row := range proxyTable {
		caller = append(caller, row.name+"="+upstream)
	}
	for _, name := range strayProxyNames {
		caller = append(caller, name+"="+upstream)
	}
	for _, proxy := range []ProxyEnv{{}, {HTTPPort: 3128}, {HTTPPort: 3128, SOCKSPort: 1080}} {
		env, _ := Environ(Policy{}, Host{Env: caller}, proxy)
		for _, entry := range env {
			if strings.Contains(entry, "corp") || proxy.HTTPPort == 0 {
				t.Errorf("%+v: %s", proxy, entry)
			}
		}
	}
}

func TestEnvironProxies(t *testing.T) {
	p := Policy{Network: Network{Allowed: []HostRule{allowRule(t, "example.test")}}}
	proxy := ProxyEnv{HTTPPort: 3128, SOCKSPort: 1080, SSHProxyCommand: "it's %h %p"}
	values, _ := environTest(p, proxy, "JAVA_TOOL_OPTIONS=-Xmx1g")
	for name, want := range map[string]string{
		"HTTP_PROXY": "http://127.0.0.1:3128", "all_proxy": "http://127.0.0.1:3128", "grpc_proxy": "http://127.0.0.1:3128",
		"FTP_PROXY": "socks5h://127.0.0.1:1080", "RSYNC_PROXY": "127.0.0.1:3128", "NODE_USE_ENV_PROXY": "1",
		"YARN_HTTPS_PROXY": "http://127.0.0.1:3128", "npm_config_https_proxy": "http://127.0.0.1:3128",
		"CLOUDSDK_PROXY_TYPE": "http", "CLOUDSDK_PROXY_ADDRESS": "127.0.0.1", "CLOUDSDK_PROXY_PORT": "3128",
		"NO_PROXY":          "localhost,127.0.0.1,::1,[::1]",
		"JAVA_TOOL_OPTIONS": "-Xmx1g -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128",
		"GIT_SSH_COMMAND":   `ssh -o ControlMaster=no -o ControlPath=none -o 'ProxyCommand=it'\''s %h %p'`,
	} {
		if values[name] != want {
			t.Errorf("%s = %q, want %q", name, values[name], want)
		}
	}
	for name, value := range values {
		if strings.Contains(value, "@") {
			t.Errorf("%s=%s holds user information", name, value)
		}
	}
	// Every JVM prints a line about the variable: not without need.
	if values, _ := environTest(Policy{}, proxy); values["JAVA_TOOL_OPTIONS"] != "" {
		t.Errorf("JAVA_TOOL_OPTIONS without a network: %s", values["JAVA_TOOL_OPTIONS"])
	}
}

func allowRule(t *testing.T, text string) HostRule {
	t.Helper()
	pattern, err := ParseHostPattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return HostRule{Text: text, Pattern: pattern}
}

// NO_PROXY must not hide what the policy allows: a program that goes there
// directly finds its own loopback.
func TestNoProxy(t *testing.T) {
	for allowed, want := range map[string]string{
		"example.test": "localhost,127.0.0.1,::1,[::1]", "*": "localhost,127.0.0.1,::1,[::1]", "10.0.0.0/8": "localhost,127.0.0.1,::1,[::1]",
		"0.0.0.0/0": "localhost,127.0.0.1,::1,[::1]",
		"localhost": "127.0.0.1,::1,[::1]", "localhost:8980": "127.0.0.1,::1,[::1]", "127.0.0.1:8980": "localhost,::1,[::1]", "127.0.0.0/8": "localhost,::1,[::1]", "[::1]:80": "localhost,127.0.0.1",
	} {
		p := Policy{Network: Network{Allowed: []HostRule{allowRule(t, allowed)}}}
		values, _ := environTest(p, ProxyEnv{HTTPPort: 1})
		if values["NO_PROXY"] != want || values["no_proxy"] != want {
			t.Errorf("allowed %s: NO_PROXY=%s, want %s", allowed, values["NO_PROXY"], want)
		}
	}
	var all []HostRule
	for _, text := range []string{"localhost", "127.0.0.1", "::1"} {
		all = append(all, allowRule(t, text))
	}
	values, _ := environTest(Policy{Network: Network{Allowed: all}}, ProxyEnv{HTTPPort: 1}, "NO_PROXY=x")
	if got, there := values["NO_PROXY"]; there {
		t.Errorf("NO_PROXY=%s", got)
	}
	if !strings.Contains(values["JAVA_TOOL_OPTIONS"], "-Dhttp.nonProxyHosts=") {
		t.Error("the JVM keeps loopback direct")
	}
}

func TestEnvironCaches(t *testing.T) {
	get := func(p Policy, caller ...string) map[string]string {
		env, _ := Environ(p, Host{Home: "/home/u", CacheDir: "/cache", Env: caller}, ProxyEnv{})
		values := map[string]string{}
		for _, entry := range env {
			name, value, _ := strings.Cut(entry, "=")
			values[name] = value
		}
		return values
	}
	golang := Policy{Network: Network{Allowed: []HostRule{allowRule(t, "*.golang.org"), allowRule(t, "*.crates.io")}}}
	shared := Policy{Filesystem: Filesystem{AllowWrite: []PathRule{{Path: "/home/u/.cache/go-build"}, {Path: "/home/u/.npm"}}}}
	for _, tt := range []struct {
		name   string
		policy Policy
		caller []string
		want   map[string]string
	}{
		{"private", Policy{}, nil, map[string]string{
			"XDG_CACHE_HOME": "/cache/xdg", "GOCACHE": "/cache/go-build", "npm_config_cache": "/cache/npm", "PIP_CACHE_DIR": "/cache/pip",
			"YARN_CACHE_FOLDER": "/cache/yarn", "GOMODCACHE": "", "CARGO_HOME": "", "DENO_DIR": "", "PLAYWRIGHT_BROWSERS_PATH": "/home/u/.cache/ms-playwright",
		}},
		{"the caller's is replaced", Policy{}, []string{"GOCACHE=/else", "DENO_DIR=/deno"}, map[string]string{"GOCACHE": "/cache/go-build", "DENO_DIR": "/cache/deno"}},
		{"module caches stay readable", Policy{}, []string{"GOMODCACHE=/mods", "CARGO_HOME=/cargo"}, map[string]string{"GOMODCACHE": "/mods", "CARGO_HOME": "/cargo"}},
		{"with a way to fill them they are private", golang, []string{"GOMODCACHE=/mods"}, map[string]string{"GOMODCACHE": "/cache/go-mod", "CARGO_HOME": "/cache/cargo"}},
		{"allowWrite shares", shared, nil, map[string]string{
			"GOCACHE": "/home/u/.cache/go-build", "npm_config_cache": "/home/u/.npm", "XDG_CACHE_HOME": "/cache/xdg",
		}},
		{"allowWrite of the caller's place shares", Policy{Filesystem: Filesystem{AllowWrite: []PathRule{{Path: "/else"}}}}, []string{"GOCACHE=/else/go"}, map[string]string{"GOCACHE": "/else/go"}},
		{"pass leaves alone", Policy{Env: Env{Pass: []EnvRule{{Name: "GOCACHE"}}}}, []string{"GOCACHE=/else"}, map[string]string{"GOCACHE": "/else"}},
		{"set wins", Policy{Env: Env{Set: []EnvRule{{Name: "GOCACHE", Value: "/mine"}}}}, nil, map[string]string{"GOCACHE": "/mine"}},
	} {
		values := get(tt.policy, tt.caller...)
		for name, want := range tt.want {
			if values[name] != want {
				t.Errorf("%s: %s = %q, want %q", tt.name, name, values[name], want)
			}
		}
	}
	if env, _ := Environ(Policy{}, Host{}, ProxyEnv{}); len(env) > 0 {
		t.Errorf("without a cache directory: %v", env)
	}
}

// Tables of names have each name once: a second row would be dead or a
// contradiction.
func TestEnvironTables(t *testing.T) {
	seen := map[string]bool{}
	once := func(name string) {
		if seen[name] {
			t.Errorf("%s has two rows", name)
		}
		seen[name] = true
	}
	for _, row := range scrubTable {
		for _, name := range row.names {
			once(name)
		}
	}
	seen = map[string]bool{}
	for _, row := range cacheTable {
		once(row.name)
	}
	for _, row := range proxyTable {
		once(row.name)
	}
	for _, name := range strayProxyNames {
		once(name)
	}
}
