package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/policy/policytest"
)

// setup is a host and four lists, each a line of entries split at spaces.
type setup struct {
	tree                   string
	deny, allow            string // reads
	write, noWrite         string
	home, dir              string
	implies                bool
	tmpHost                bool
	executable, state, cfg string
	cache                  string
}

const usualTree = "/proc/sys/\n/dev/\n/tmp/\n/home/u/p/\n"

func (s setup) compile() (*policy.Plan, error) {
	if s.home == "" {
		s.home = "/home/u"
	}
	if s.dir == "" {
		s.dir = "/home/u/p"
	}
	flags := policy.Flags{
		DenyRead: strings.Fields(s.deny), AllowRead: strings.Fields(s.allow),
		AllowWrite: strings.Fields(s.write), DenyWrite: strings.Fields(s.noWrite),
	}
	p, err := policy.Load(policy.Input{
		File:  &policy.Source{Layer: policy.LayerFile, Name: "p.toml", Data: []byte("extends = []\n"), Base: s.dir},
		Flags: flags, Vars: policy.Vars{Home: s.home}, Cwd: s.dir,
	})
	if err != nil {
		return nil, err
	}
	p.Filesystem.WriteImpliesRead = s.implies
	if s.tmpHost {
		p.Filesystem.Tmp = policy.TmpHost
	}
	tree := policytest.MustNew(usualTree + s.tree)
	host := policy.Host{OS: "linux", Home: s.home, FS: tree, Executable: s.executable, StateDir: s.state,
		ConfigDir: s.cfg, CacheDir: s.cache, Support: policy.Support{Guard: true}}
	return policy.Compile(p, host, policy.Command{Argv: []string{"true"}, Dir: s.dir})
}

func (s setup) mustCompile(t *testing.T) *policy.Plan {
	t.Helper()
	plan, err := s.compile()
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestDecisions is the table of issue rules 1 to 6: each row has the places that
// are allowed beside those that are denied.
func TestDecisions(t *testing.T) {
	tests := []struct {
		name  string
		setup setup
		read  string // paths; a leading ! means denied
		write string
	}{
		{"zero policy", setup{}, "/home/u/p/f /etc/passwd", "!/home/u/p/f !/etc/x /tmp/x /dev/null !/proc/sys/kernel/core_pattern"},
		{"a directory is hidden with all beneath", setup{tree: "/s/a/b", deny: "/s", write: "."},
			"!/s !/s/a !/s/a/b !/s/new /sx", "!/s/new"},
		{"allowRead opens beneath", setup{tree: "/s/a/b\n/s/c", deny: "/s", allow: "/s/a"}, "/s/a /s/a/b /s !/s/c", "!/s/a/b !/s"},
		{"allowRead wins at equal path", setup{tree: "/s/a", deny: "/s", allow: "/s"}, "/s /s/a", ""},
		{"a deny inside an opened place", setup{tree: "/s/a/b/c", deny: "/s /s/a/b", allow: "/s/a"}, "/s/a !/s/a/b !/s/a/b/c", ""},
		{"a file is opened only by its name", setup{tree: "/home/u/p/.env", deny: ".env", allow: "."}, "!/home/u/p/.env /home/u/p/x", ""},
		{"a file opened by its name", setup{tree: "/home/u/p/.env", deny: ".env", allow: ".env"}, "/home/u/p/.env", ""},
		{"denyWrite wins at any depth", setup{tree: "/home/u/p/a/b/", write: ". a a/b", noWrite: "a"},
			"/home/u/p/a/b", "/home/u/p/x !/home/u/p/a !/home/u/p/a/b/c"},
		{"denyWrite of the root itself", setup{tree: "/home/u/p/a/", write: ". a", noWrite: "."}, "", "!/home/u/p/x !/home/u/p/a/x"},
		{"one file as write root", setup{tree: "/home/u/p/f", write: "f"}, "", "/home/u/p/f !/home/u/p/g !/home/u/p"},
		{"hidden is not written", setup{tree: "/home/u/p/s/f", write: ".", deny: "s"}, "!/home/u/p/s/f", "!/home/u/p/s/f !/home/u/p/s /home/u/p/g"},
		{"srt: writing opens reading", setup{tree: "/s/w/f", deny: "/s", write: "/s/w", implies: true}, "/s/w/f !/s/g", "/s/w/f !/s/g"},
		{"an absent denied name", setup{write: ".", noWrite: "later", deny: "secret"},
			"!/home/u/p/secret", "!/home/u/p/later !/home/u/p/later/x !/home/u/p/secret /home/u/p/laterx"},
		{"a pattern covers later names", setup{write: ".", deny: "**/.env", noWrite: "**/*.pem"},
			"!/home/u/p/a/.env !/home/u/p/.env /home/u/p/.envrc", "!/home/u/p/new/.env !/home/u/p/k.pem !/home/u/p/k.pem/x /home/u/p/k.pen"},
		{"dir/** is dir", setup{tree: "/s/a", deny: "/s/**", write: "./**"}, "!/s !/s/a", "/home/u/p/x /home/u/p"},
		{"names with wildcard characters", setup{tree: "/home/u/p/[a]/f\n/home/u/p/a/f", deny: `\[a\]`}, "!/home/u/p/[a]/f /home/u/p/a/f", ""},
		{"dot dot goes where the kernel goes", setup{tree: "/x/y/z/\n/home/u/p/l -> /x/y/z\n/x/y/s\n/home/u/p/s", deny: "l/../s"},
			"!/x/y/s /home/u/p/s", ""},
		{"a deny through a link closes both", setup{tree: "/v/secret\n/home/u/p/l -> /v/secret", write: ".", deny: "l"},
			"!/v/secret", "!/home/u/p/l /home/u/p/m"},
		{"a deny through a linked parent", setup{tree: "/v/d/f\n/home/u/p/l -> /v/d", write: ".", noWrite: "l/f"},
			"", "!/v/d/f !/home/u/p/l"},
		{"a dangling link is closed where it leads", setup{tree: "/home/u/p/l -> q", write: ".", noWrite: "l"}, "", "!/home/u/p/q !/home/u/p/l"},
		{"a link in a circle is closed itself", setup{tree: "/home/u/p/l -> l", write: ".", noWrite: "l"}, "", "!/home/u/p/l"},
		{"an allow through a planted link", setup{tree: "/home/u/.ssh/id\n/home/u/p/docs -> /home/u/.ssh", write: ". docs", deny: "~/.ssh", allow: "docs"},
			"!/home/u/.ssh/id", "!/home/u/.ssh/id"},
		{"an allow through a link of the host's", setup{tree: "/var/d/\n/d -> /var/d", write: "/d"}, "", "/var/d/x !/d"},
		{"a directory that cannot be searched is closed whole", setup{tree: "/home/u/p/z/ !", write: ".", deny: "z/s", noWrite: "z/t"},
			"!/home/u/p/z !/home/u/p/z/other", "!/home/u/p/z/other"},
		{"a file where a directory was meant", setup{tree: "/home/u/p/f", write: ".", noWrite: "f/g"}, "", "!/home/u/p/f/g /home/u/p/f"},
		{"everything hidden", setup{tree: "/usr/bin/sh\n/x", deny: "/", allow: "/usr ."}, "/usr/bin/sh !/x / /dev/null /tmp/x", "!/usr/x"},
		{"everything writable", setup{tree: "/srv/d/", write: "/", noWrite: "/srv/d"}, "", "/x /srv/x !/srv/d/x !/srv/d"},
		{"everything writable and nothing", setup{write: "/", noWrite: "/"}, "", "!/x !/home/u/p/x"},
		{"state is closed, the cache in it open", setup{tree: "/home/u/.state/c/\n/home/u/.conf/policy.toml", write: "~", allow: "~/.state",
			state: "/home/u/.state", cache: "/home/u/.state/c", cfg: "/home/u/.conf"},
			"!/home/u/.state/x /home/u/.state/c/x /home/u/.conf/policy.toml", "!/home/u/.state/x /home/u/.state/c/x !/home/u/.conf/policy.toml"},
		{"gosrt itself", setup{tree: "/home/u/p/gosrt", write: ".", executable: "/home/u/p/gosrt"}, "/home/u/p/gosrt", "!/home/u/p/gosrt"},
		{"the host's /tmp", setup{tree: "/tmp/x", tmpHost: true}, "/tmp/x", "!/tmp/x /dev/shm/x"},
		{"a place of the host's /tmp", setup{tree: "/tmp/w/f\n/tmp/r/f", write: "/tmp/w", allow: "/tmp/r"},
			"/tmp/r/f", "/tmp/w/f !/tmp/r/f /tmp/other"},
		{"a place of the host's /dev/shm", setup{tree: "/dev/shm/w/\n/dev/shm/r/f", write: "/dev/shm/w", allow: "/dev/shm/r", noWrite: "/home/u/p/l"},
			"/dev/shm/r/f", "/dev/shm/w/f !/dev/shm/r/f /dev/shm/x"},
		{"the working directory in /dev/shm", setup{tree: "/dev/shm/w/", dir: "/dev/shm/w"}, "/dev/shm/w", "!/dev/shm/w/f /dev/shm/x"},
		{"a denied link into /proc", setup{tree: "/home/u/p/l -> /proc/self", write: ".", deny: "l"}, "/proc/self/status", "!/home/u/p/l"},
		{"a relative path is no answer", setup{write: "."}, "!home/u/p", "!home/u/p !."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := tt.setup.mustCompile(t)
			check(t, "read", tt.read, plan.DecideRead)
			check(t, "write", tt.write, plan.DecideWrite)
		})
	}
}

func check(t *testing.T, what, paths string, decide func(string) policy.Decision) {
	t.Helper()
	for _, p := range strings.Fields(paths) {
		want := policy.Allow
		if strings.HasPrefix(p, "!") {
			want, p = policy.Deny, p[1:]
		}
		if d := decide(p); d.Verdict != want {
			t.Errorf("%s %s: %v by %q (%s), want %v", what, p, d.Verdict, d.Rule, d.Reason, want)
		}
	}
}

func TestDecisionNamesTheRule(t *testing.T) {
	plan := setup{tree: "/s/f\n/home/u/p/.git/config", deny: "/s", write: "."}.mustCompile(t)
	tests := []struct {
		decision   policy.Decision
		rule, hint string
	}{
		{plan.DecideRead("/s/f"), "denyRead /s", "--allow-read /s/f"},
		{plan.DecideWrite("/etc/it's"), "", `--allow-write '/etc/it'\''s'`},
		{plan.DecideWrite("/home/u/p/.git/config"), "protect /home/u/p/.git/config", "--allow-write /home/u/p/.git/config"},
		{plan.DecideWrite("/home/u/p/.git/hooks/x"), "protect /home/u/p/.git/hooks", ""},
		{plan.DecideWrite("/home/u/p/f"), "allowWrite .", ""},
	}
	for _, tt := range tests {
		if tt.decision.Rule != tt.rule || tt.decision.Hint != tt.hint {
			t.Errorf("rule %q hint %q, want %q and %q", tt.decision.Rule, tt.decision.Hint, tt.rule, tt.hint)
		}
	}
	if got := plan.DecideRead("/s/f").Origin.Name; got != "--deny-read" {
		t.Errorf("origin %q, want the flag", got)
	}
}

func TestDecideRemove(t *testing.T) {
	index := setup{tree: "/home/u/p/a/b/c\n/home/u/p/d/", write: ".", noWrite: "a/b/c a/new/x"}.mustCompile(t).Files.Index()
	check(t, "remove", "!/home/u/p/a/b/c !/home/u/p/a/b !/home/u/p/a !/home/u/p /home/u/p/d /home/u/p/x !/home/u", index.DecideRemove)
}

// TestDecideMoveTo: a directory cannot be built under a free name and moved to
// where a denied name would lie in it.
func TestDecideMoveTo(t *testing.T) {
	index := setup{tree: "/home/u/p/.claude/\n/home/u/p/x/", write: ".", noWrite: "a/b/c **/secret/key"}.mustCompile(t).Files.Index()
	check(t, "move", "!/home/u/p/.git !/home/u/p/x/.git !/home/u/p/bare.git !/home/u/p/.claude !/home/u/p/a !/home/u/p/a/b !/home/u/p/x/secret "+
		"/home/u/p/x/y /home/u/p/new /home/u/p/.github !/home/u/q", index.DecideMoveTo)
}

func TestDecideCreateInNewRepositories(t *testing.T) {
	index := setup{tree: "/home/u/p/.git/HEAD\n/home/u/p/.git/config\n/home/u/p/.git/hooks/", write: "."}.mustCompile(t).Files.Index()
	born := func(p string) bool {
		return strings.HasPrefix(p, "/home/u/p/new") || strings.Contains(p, "worktrees/w")
	}
	check(t, "create", "/home/u/p/new/.git /home/u/p/new/.git/config /home/u/p/new/.git/hooks /home/u/p/new/.git/hooks/pre-push.sample "+
		"!/home/u/p/new/.git/hooks/pre-push !/home/u/p/new/.git/info/attributes !/home/u/p/old/.git/config !/home/u/p/old/.git "+
		"!/home/u/p/.git/config !/home/u/p/.git/hooks/x.sample /home/u/p/.git/worktrees/w/commondir /home/u/p/.git/worktrees/w/gitdir "+
		"/home/u/p/.git/refs/heads/config /home/u/p/.git/objects/x /home/u/p/new.git/config !/home/u/p/old.git/config",
		func(p string) policy.Decision { return index.DecideCreate(p, born) })
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name  string
		setup setup
		want  string
	}{
		{"absent write root", setup{write: "gone"}, "does not exist: create it first, with mkdir -p /home/u/p/gone"},
		{"pattern in allowWrite", setup{write: "src/*.go"}, `allow the directory "/home/u/p/src"`},
		{"write root in a hidden place", setup{tree: "/s/w/", deny: "/s", write: "/s/w"}, "hidden by denyRead /s"},
		{"write root equal to a hidden place", setup{tree: "/s/", deny: "/s", write: "/s"}, "hidden by denyRead /s"},
		{"hidden working directory", setup{deny: ".."}, "working directory"},
		{"hooks", setup{tree: "/home/u/p/.git/hooks/\n/home/u/p/.git/HEAD", write: ".git/hooks"}, "never opened"},
		{"below hooks", setup{tree: "/home/u/p/.git/hooks/x\n/home/u/p/.git/HEAD", write: ". .git/hooks/x"}, "never opened"},
		{"below a protected place", setup{tree: "/home/u/.ssh/config", write: "~ ~/.ssh/config"}, "name exactly that"},
		{"project policy", setup{tree: "/home/u/p/.gosrt.toml", write: ". .gosrt.toml"}, "never opened"},
		{"a device", setup{tree: "/dev/kvm", write: "/dev/kvm"}, "minimal /dev"},
		{"a deny in /proc", setup{deny: "/proc/cpuinfo"}, "its own /proc and /dev"},
		{"a link in a circle", setup{tree: "/l -> l", write: "/l"}, "leads to itself"},
		{"blind", setup{tree: "/z/ !", write: "/z/x"}, "cannot be searched"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.setup.compile()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestProtected(t *testing.T) {
	tree := "/home/u/.bashrc\n/home/u/p/.git/HEAD\n/home/u/p/.git/config\n/home/u/p/.git/hooks/\n/home/u/p/sub/deep/er/.git/config\n/home/u/.ssh/config\n"
	index := setup{tree: tree, write: "~"}.mustCompile(t).Files.Index()
	check(t, "write", "!/home/u/.bashrc !/home/u/.zshenv !/home/u/.config/systemd/user/x !/home/u/.local/bin/git !/home/u/.ssh/authorized_keys "+
		"!/home/u/.claude/settings.json !/home/u/p/.vscode/tasks.json !/home/u/p/.envrc !/home/u/p/.gosrt.toml !/home/u/p/.git/hooks/pre-commit "+
		"!/home/u/p/.git/config !/home/u/p/.git/config.worktree !/home/u/p/.git/commondir !/home/u/p/.git/info/attributes "+
		"!/home/u/p/.git/modules/a/b/config !/home/u/p/.git/worktrees/w/gitdir !/home/u/p/sub/deep/er/.git/config !/home/u/p/x.git/hooks/y "+
		"/home/u/notes /home/u/p/.git/index /home/u/p/.git/objects/x /home/u/p/.git/info/exclude /home/u/p/.github/x /home/u/.cache/x "+
		"/home/u/p/node_modules/pkg/.vscode/settings.json !/home/u/p/.git/modules/a/refs/heads/config", index.DecideWrite)
}

func TestProtectedIsOpenedByName(t *testing.T) {
	plan := setup{tree: "/home/u/.bashrc\n/home/u/.zshrc\n/home/u/p/.git/config\n/home/u/p/.git/HEAD", write: "~ ~/.bashrc .git/config"}.mustCompile(t)
	check(t, "write", "/home/u/.bashrc !/home/u/.zshrc /home/u/p/.git/config !/home/u/p/.git/hooks/x !/home/u/q/.git/config", plan.DecideWrite)
	if slices.ContainsFunc(plan.Mounts, func(m policy.Mount) bool { return m.Dest == "/home/u/.bashrc" }) {
		t.Error("the opened file is still a mount")
	}
}

// TestProtectedTable holds what every row must have.
func TestProtectedTable(t *testing.T) {
	seen := map[string]policy.Where{}
	for _, row := range policy.ProtectedPaths() {
		if row.Path == "" || row.Reason == "" || row.Group == "" || row.Where == 0 || strings.HasPrefix(row.Path, "/") {
			t.Errorf("row %+v: incomplete", row)
		}
		if seen[row.Path]&row.Where != 0 {
			t.Errorf("row %q: twice", row.Path)
		}
		seen[row.Path] |= row.Where
	}
}

func TestZeroFilesDenyWriting(t *testing.T) {
	var f policy.Files
	check(t, "write", "!/ !/x", f.DecideWrite)
	check(t, "read", "/x", f.DecideRead)
}

// What a directory is called lifts nothing: a checkout may lie in ~/logs, and who
// writes .gitmodules may call a submodule refs/heads.
func TestNoNameLiftsGitPatterns(t *testing.T) {
	index := setup{write: "."}.mustCompile(t).Files.Index()
	check(t, "write", "/home/u/p/.git/refs/heads/config /home/u/p/.git/logs/refs/heads/config "+
		"!/home/u/p/.git/modules/refs/heads/config !/home/u/p/.git/modules/a/refs/heads/b/config "+
		"!/home/u/p/logs/sub/.git/config !/home/u/p/logs/bare.git/config !/home/u/p/refs/heads/bare.git/hooks/post-update "+
		"!/home/u/p/proj.git/logs/q/.git/config !/home/u/p/.git/modules/logs/config", index.DecideWrite)
}
