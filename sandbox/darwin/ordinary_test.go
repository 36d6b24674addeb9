package darwin

import "testing"

// TestOrdinaryWork: under the built-in policy, what git, package managers and
// compilers do in a checkout works, and what they must not do there is refused.
func TestOrdinaryWork(t *testing.T) {
	const p = "/Users/u/p"
	plan := Prepare(defaultPlan(t), Run{TmpDir: "/private/tmp/t", Hidden: "/private/tmp/h"})
	m, err := machineFor(t, render(t, plan).Text, 15)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"/.git/HEAD", "/.git/config", "/.git/index", "/.git/hooks/x", "/.git/refs/heads/main", "/.git/logs/HEAD",
		"/.git/objects/aa/1", "/src/main.c", "/node_modules/dep/.vscode/settings.json"} {
		m.put(p+f, "data")
	}
	m.put("/Users/u/.ssh/id_ed25519", "key")
	m.put("/usr/bin/git", "program")
	m.mkdirAll("/private/tmp/t")
	m.mkdirAll("/private/tmp/h")
	for _, s := range []struct{ calls, want string }{
		{"exec /usr/bin/git", ok},
		// git commit
		{"write P/.git/index.lock; rename P/.git/index.lock P/.git/index", ok},
		{"mkdir P/.git/objects/ab; write P/.git/objects/ab/tmp_obj; link P/.git/objects/ab/tmp_obj P/.git/objects/ab/1; remove P/.git/objects/ab/tmp_obj", ok},
		{"write P/.git/refs/heads/main.lock; rename P/.git/refs/heads/main.lock P/.git/refs/heads/main; write P/.git/logs/HEAD", ok},
		{"mkdir P/.git/refs/heads/config; write P/.git/refs/heads/config/x", ok},
		{"write P/.git/COMMIT_EDITMSG; write P/.git/HEAD", ok},
		// npm install
		{"mkdir P/node_modules/new; write P/node_modules/new/index.js; rename P/node_modules/dep P/node_modules/.dep-1; rename P/node_modules/new P/node_modules/dep", ok},
		{"mkdir P/node_modules/.bin; symlink ../dep/index.js P/node_modules/.bin/dep; chmod P/node_modules/dep/index.js", ok},
		{"write P/node_modules/.dep-1/.vscode/settings.json", ok},
		// a compiler
		{"mkdir P/target; write P/target/a.o; link P/target/a.o P/target/b.o; write P/target/b.o; remove P/target/a.o; remove P/target/b.o; remove P/target", ok},
		{"write /tmp/t/x; rename /tmp/t/x P/x; rename P/x /tmp/t/x; mkdir /tmp/t/d; listenunix /tmp/t/d/s; unix /tmp/t/d/s", ok},
		{"mkdir P/a; rename P/a P/b; remove P/b", ok},
		{"write /dev/null", ok},
		{"tcp 127.0.0.1 3128", refused},
		// and not
		{"write P/.git/config", eperm},
		{"write P/.git/hooks/pre-commit", eperm},
		{"rename P/.git P/g", eperm},
		{"rename P P2", eperm},
		{"mkdir P/sub; mkdir P/sub/.git", eperm},
		{"mkdir P/.vscode", eperm},
		{"write P/.ENVRC", eperm},
		{"write P/../evil", eperm},
		{"write /Users/u/.zshrc", eperm},
		{"read /Users/u/.ssh/id_ed25519", eperm},
		{"symlink /Users/u/.ssh P/s; read P/s/id_ed25519", eperm},
		{"link /Users/u/.ssh/id_ed25519 P/k", eperm},
		{"clone /Users/u/.ssh P/k", eperm},
		{"read /private/tmp/h", eperm},
		{"mount P/src", eperm},
		{"setxattr /Users/u/.ssh", eperm},
		{"tcp 192.0.2.1 443", eperm},
		{"mach com.apple.pasteboard.1", eperm},
	} {
		answer := ""
		for _, call := range steps(s.calls) {
			answer = m.run(replace("P", p)(call))
			if answer != ok {
				break
			}
		}
		if answer != s.want {
			t.Errorf("%s: %q, want %q", s.calls, answer, s.want)
		}
	}
}
