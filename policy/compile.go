package policy

import (
	"fmt"
	"strings"
)

// The ports that the proxies answer on inside, on 127.0.0.1.
const (
	httpPort  = 3128 // Squid's, which tools and people recognise
	socksPort = 1080 // IANA "socks"
)

// Compile closes a policy over a host and a command. What cannot be held here is
// an error that names the rule, the reason and what would work; a Plan leaves
// nothing to decide.
func Compile(p Policy, h Host, c Command) (*Plan, error) {
	if err := checkCommand(c); err != nil {
		return nil, err
	}
	if p.Filesystem.Absent == AbsentCover {
		return nil, fmt.Errorf("filesystem.absent %q: not available: leave it out, and the guard refuses the creating call", "cover")
	}
	b := &builder{policy: p, host: h, resolver: newResolver(h.FS)}
	b.dir = b.resolve(c.Dir)
	if !b.dir.dir() {
		return nil, fmt.Errorf("working directory %q: not a directory that can be reached", c.Dir)
	}
	if err := b.rules(); err != nil {
		return nil, err
	}
	b.index = b.files.Index()
	if err := b.check(); err != nil {
		return nil, err
	}
	return b.plan(c)
}

func checkCommand(c Command) error {
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return fmt.Errorf("command: empty: give one after --")
	case !strings.HasPrefix(c.Dir, "/"):
		return fmt.Errorf("working directory %q: not absolute", c.Dir)
	case strings.Contains(c.Dir, "\x00"):
		return fmt.Errorf("working directory %q: holds a NUL byte", c.Dir)
	}
	return nil
}

// builder holds what the steps of Compile hand on. Each step adds; none takes back.
type builder struct {
	policy Policy
	host   Host
	*resolver
	dir   place // the command's working directory
	files Files
	index *FileIndex // of files, once they are complete
	// found are the places that denied patterns match now.
	found []Found
	// infos describe the places of rules, by path, for the mounts.
	infos map[string]FileInfo
	// links are those that denied entries were spelled through, and shown those
	// of allowed entries, each at its own canonical path.
	links []FileRule
	shown []string
	notes []string
}

func (b *builder) note(format string, args ...any) {
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
}

// tableSize is more rules than a default run has.
const tableSize = 320

// rules fills the table. The order matters only where one step needs what the
// one before found: links are judged against all write roots, repositories are
// looked for around them, protected paths are laid over both.
func (b *builder) rules() error {
	b.files = make(Files, 0, tableSize)
	b.infos = map[string]FileInfo{}
	b.listHome()
	b.freshRules()
	if err := b.userRules(); err != nil {
		return err
	}
	b.ownRules()
	repos := b.repositories()
	b.grantWorktree(repos)
	if err := b.protect(repos); err != nil {
		return err
	}
	b.expand()
	b.linkRules()
	return nil
}

// listHome looks into the directories that the tables name most places in.
func (b *builder) listHome() {
	if b.host.Home == "" {
		return
	}
	home := b.resolve(b.host.Home).Path
	for _, dir := range []string{home, join(home, ".config"), join(home, ".local/share"), join(home, "Library")} {
		b.list(dir)
	}
}

// sshProxyCommand is empty where gosrt is hidden from the command, or where there
// is nothing to reach.
func (b *builder) sshProxyCommand() string {
	n := b.policy.Network
	tunnel := b.host.Tunnel
	if tunnel == "" || len(n.Allowed) == 0 && !n.Ask || b.files.DecideRead(tunnel).Verdict != Allow {
		return ""
	}
	return sshProxyCommand(tunnel)
}

// proxyPorts are where the proxies answer inside.
func (b *builder) proxyPorts() (http, socks uint16) {
	if own := b.host.ProxyPort; own != 0 {
		return own, own
	}
	return httpPort, socksPort
}

func (b *builder) plan(c Command) (*Plan, error) {
	http, socks := b.proxyPorts()
	env, changes := Environ(b.policy, b.host, ProxyEnv{
		HTTPPort: http, SOCKSPort: socks, TmpDir: b.tmpDir(), SSHProxyCommand: b.sshProxyCommand(),
	})
	plan := &Plan{
		OS: b.host.OS, Argv: c.Argv, Dir: b.dir.Path, Home: b.host.Home, TmpDir: b.tmpDir(), StateDir: b.host.StateDir,
		Env: env, EnvChanges: changes,
		Files:   b.files,
		Found:   b.found,
		Network: b.policy.Network, HTTPPort: http, SOCKSPort: socks,
		Transparent: b.host.Support.Transparent && !b.policy.Network.NoTransparent,
		Guard:       b.host.Support.Guard,
		Sockets:     b.sockets(),
		Darwin:      b.policy.Darwin, Bwrap: b.policy.Bwrap, Untrusted: b.policy.Untrusted,
	}
	if b.host.OS == "linux" {
		plan.Mounts = b.mounts()
	}
	b.noteArguments(c.Argv)
	plan.Notes = append(append([]string(nil), b.policy.Notes...), b.notes...)
	plan.Weaknesses = weaknesses(b.policy, b.host, plan)
	return plan, nil
}
