package sandbox

import (
	"os"
	"os/exec"
	"testing"

	"github.com/gosrt/gosrt/policy"
)

// BenchmarkPlan is what a default run in a checkout compiles on this host.
func BenchmarkPlan(b *testing.B) {
	dir := b.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		b.Fatalf("git init: %v: %s", err, out)
	}
	vars := policy.Vars{Home: os.Getenv("HOME"), Env: os.Environ()}
	cmd := Command(b.Context(), policy.Builtin(vars, dir), "true")
	cmd.Dir = dir
	host := hostOf(os.Environ(), "")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := policy.Compile(cmd.Policy, host, policy.Command{Argv: cmd.Args, Dir: dir}); err != nil {
			b.Fatal(err)
		}
	}
}
