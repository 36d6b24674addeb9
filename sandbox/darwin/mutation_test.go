package darwin

import (
	"slices"
	"strings"
	"testing"

	"github.com/gosrt/gosrt/policy"
)

// Mutation seeds: bugs that other generators of profiles had. Each is put into
// a profile by hand, and the promises of the plan must catch it; without the
// mutation the same steps must keep them. So the evaluator is known to see it.

type mutation struct {
	name, origin string
	plan         func() *policy.Plan
	mutate       func(profile string) string
	// steps run inside; then want says what the last one answers when the bug is
	// in. Empty: the profile does not compile.
	steps, healthy, broken string
}

func replace(old, new string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, old, new) }
}

// without drops every line that holds a text.
func dropLines(text string) func(string) string {
	return func(s string) string {
		lines := slices.DeleteFunc(strings.SplitAfter(s, "\n"), func(l string) bool { return strings.Contains(l, text) })
		return strings.Join(lines, "")
	}
}

var mutations = []mutation{
	{name: "leaf allow makes denials inert", origin: "greywall#20", plan: project,
		mutate: replace("(allow file-read*)\n", "(allow file-read-data file-read-metadata)\n"),
		steps:  "read " + home + "/.ssh/id", healthy: eperm, broken: ok},
	{name: "leaf denial beats a re-opened place", origin: "nono#697", plan: homeHidden,
		mutate: replace("(deny file-read* process-exec* file-write* file-link (subpath \""+home+"\"))",
			"(deny file-read-data file-write* file-link (subpath \""+home+"\"))"),
		steps: "read " + proj + "/main.go", healthy: ok, broken: eperm},
	{name: "protected place moves with its parent", origin: "srt#8", plan: twoRoots,
		mutate: dropLines("(deny file-write-unlink file-write-create"),
		steps:  "rename " + proj + "/.git " + proj + "/g; write " + proj + "/g/hooks/pre-commit", healthy: enoent, broken: ok},
	{name: "a filled directory moves in", origin: "srt#8", plan: project,
		mutate: dropLines("(deny file-write-unlink file-write-create"),
		steps:  "mkdir " + proj + "/c; mkdir " + proj + "/c/commands; rename " + proj + "/c " + proj + "/.claude; read " + proj + "/.claude/commands", healthy: enoent, broken: ok},
	{name: "a nested repository is built aside", origin: "srt 2.6 gap", plan: project,
		mutate: replace(`(regex "^/Users/ann/proj(/.*)?/[^/]*\\.[gG][iI][tT]$")`, ""),
		steps: "mkdir " + proj + "/sub; mkdir " + proj + "/sub/g; mkdir " + proj + "/sub/g/hooks; write " + proj + "/sub/g/hooks/pre-commit; " +
			"rename " + proj + "/sub/g " + proj + "/sub/x.git; read " + proj + "/sub/x.git/hooks/pre-commit", healthy: enoent, broken: ok},
	{name: "local on outbound", origin: "srt#88 #131 #225, nix#10078", plan: project,
		mutate: replace(`(remote tcp "localhost:3128")`, `(local ip "localhost:3128")`),
		steps:  "tcp 192.0.2.1 3128", healthy: eperm, broken: refused},
	{name: "ip opens UDP", origin: "seatbelt 2.7", plan: project,
		mutate: replace(`(remote tcp "localhost:3128")`, `(remote ip "localhost:3128")`),
		steps:  "udp 127.0.0.1 3128", healthy: eperm, broken: ok},
	{name: "bind on the proxy's port", origin: "srt, fence", plan: project,
		mutate: replace("; network\n", "; network\n(allow network-bind network-inbound (local tcp \"localhost:3128\"))\n"),
		steps:  "listen 127.0.0.1 3128", healthy: eperm, broken: ok},
	{name: "rename denied although nothing protected is in it", origin: "srt#171", plan: project,
		mutate: replace("(deny file-write-unlink file-write-create (literal \""+proj+"\")", "(deny file-write-unlink file-write-create (subpath \""+proj+"\")"),
		steps:  "mkdir " + proj + "/a; rename " + proj + "/a " + proj + "/b; remove " + proj + "/b", healthy: ok, broken: enoent},
	{name: "hidden root kills every program", origin: "srt#190, CC#39635", plan: goldens["root-hidden"],
		mutate: dropLines("(allow file-read* (literal \"/\"))"),
		steps:  "exec /usr/bin/true", healthy: ok, broken: "SIGABRT"},
	{name: "getcwd fails beneath a hidden directory", origin: "srt#190, CC#31428", plan: homeHidden,
		mutate: dropLines("(allow file-read-metadata"),
		steps:  "stat " + home, healthy: ok, broken: eperm},
	{name: "denied file beneath an opened directory", origin: "srt#193", plan: homeHidden,
		mutate: func(s string) string {
			line := "(deny file-read* process-exec* file-write* file-link (subpath \"" + proj + "/secret\"))\n"
			return strings.Replace(strings.Replace(s, line, "", 1), "(allow file-read* process-exec* (subpath \""+proj+"\"))\n",
				line+"(allow file-read* process-exec* (subpath \""+proj+"\"))\n", 1)
		},
		steps: "read " + proj + "/secret", healthy: eperm, broken: ok},
	{name: "protection of the first write root only", origin: "srt#432", plan: twoRoots,
		mutate: dropLines("/Users/ann/two/"),
		steps:  "write " + home + "/two/.git/hooks/pre-commit", healthy: eperm, broken: ok},
	{name: "quoting that the reader does not know", origin: "fence, greywall: %q", plan: goldens["services"],
		mutate: replace("Käse", `K\u00e4se`), steps: "read /usr/lib/dyld", healthy: ok},
	{name: "non-capturing group never matches", origin: "nono#1763", plan: project,
		mutate: replace("(/.*)?", "(?:/.*)?"),
		steps:  "write " + proj + "/.git/hooks/pre-commit", healthy: eperm, broken: ok},
	{name: "flags in a regex", origin: "orbit#494", plan: project,
		mutate: replace(`(regex "^`, `(regex "(?i)^`), steps: "read /usr/lib/dyld", healthy: ok},
	{name: "a spelling with ..", origin: "mxc", plan: project,
		mutate: replace(home+"/.ssh", home+"/x/../.ssh"),
		steps:  "read " + home + "/.ssh/id", healthy: eperm, broken: ok},
	{name: "one case only", origin: "seatbelt 2.6", plan: project,
		mutate: func(s string) string { return strings.NewReplacer("[vV][sS][cC][oO][dD][eE]", "vscode").Replace(s) },
		steps:  "mkdir " + proj + "/.VSCode", healthy: eperm, broken: ok},
	{name: "/tmp unresolved", origin: "fence#23", plan: tmpHidden,
		mutate: replace("/private/tmp", "/tmp"),
		steps:  "read /tmp/secret", healthy: eperm, broken: ok},
	{name: "the data volume's spelling", origin: "seatbelt 2.6", plan: project,
		mutate: replace(`"`+home+"/.aws", `"`+dataVolume+home+"/.aws"),
		steps:  "read " + home + "/.aws", healthy: eperm, broken: ok},
	{name: "hard link to a hidden file", origin: "strands, version 1", plan: project,
		mutate: dropLines("(deny file-link)"),
		steps:  "link " + home + "/.ssh/id " + proj + "/k; read " + proj + "/k", healthy: enoent, broken: ok},
	{name: "clone of a directory", origin: "version 1", plan: project,
		mutate: dropLines("(deny file-clone)"),
		steps:  "clone " + home + "/.ssh " + proj + "/k; read " + proj + "/k/id", healthy: enoent, broken: ok},
	{name: "permission behind the denials", origin: "nono#970", plan: project,
		mutate: func(s string) string { return s + "(allow file-write* (subpath \"" + proj + "\"))\n" },
		steps:  "write " + proj + "/vendor/x", healthy: eperm, broken: ok},
	{name: "prefix without a boundary", origin: "seatbelt 2.5", plan: project,
		mutate: replace("(subpath \""+proj+"\")", "(prefix \""+proj+"\")"),
		steps:  "mkdir " + proj + "ect", healthy: eperm, broken: ok},
	{name: "a name of a later macOS without a guard", origin: "codex#45119", plan: project,
		mutate: replace("(if (defined? 'file-graft) (deny file-graft))", "(deny file-graft)"), steps: "read /usr/lib/dyld", healthy: ok},
	{name: "a host name in an address", origin: "zeroclaw#4767", plan: project,
		mutate: replace("localhost:3128", "127.0.0.1:3128"), steps: "read /usr/lib/dyld", healthy: ok},
	{name: "access through the host's sockets", origin: "nono#488", plan: goldens["services"],
		mutate: replace("(allow network-outbound (literal \"/private/var/run/docker.sock\"))", "(allow network-outbound)"),
		steps:  "tcp 192.0.2.1 443", healthy: eperm, broken: refused},
}

func twoRoots() *policy.Plan {
	return planOf("allowWrite "+proj, "allowWrite "+home+"/two", "protect "+proj+"/.git/hooks", "protect "+home+"/two/.git/hooks")
}

func tmpHidden() *policy.Plan { return planOf("denyRead /tmp/secret", "allowWrite "+proj) }

func machineFor(t testing.TB, text string, version int) (*fakeMac, error) {
	t.Helper()
	m := newMac()
	for _, f := range []string{home + "/.ssh/id", home + "/.aws/credentials", proj + "/main.go", proj + "/.git/hooks/post-commit",
		proj + "/vendor/lib.go", proj + "/secret/key", home + "/two/.git/hooks/x", "/private/tmp/secret", "/usr/bin/true"} {
		m.put(f, "data of "+f)
	}
	p, err := compileSBPL(text, version)
	m.profile = p
	return m, err
}

func TestMutationSeeds(t *testing.T) {
	for _, mu := range mutations {
		t.Run(mu.name, func(t *testing.T) {
			text := render(t, mu.plan()).Text
			play := func(text string) string {
				m, err := machineFor(t, text, 15)
				if err != nil {
					return ""
				}
				last := ""
				for _, s := range steps(mu.steps) {
					last = m.run(s)
				}
				return "=" + last
			}
			if got := play(text); got != "="+mu.healthy {
				t.Errorf("as generated: %s answered %q, want %q", mu.steps, got, mu.healthy)
			}
			bad := mu.mutate(text)
			if bad == text {
				t.Fatal("the mutation changes nothing")
			}
			want := "=" + mu.broken
			if mu.broken == "" && mu.healthy == ok {
				want = ""
			}
			if got := play(bad); got != want {
				t.Errorf("%s: with the bug %s answered %q, want %q", mu.origin, mu.steps, got, want)
			}
		})
	}
}
