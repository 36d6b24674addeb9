package sandbox

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux"
)

// probeTime is far above what a start takes on a slow machine.
const probeTime = 10 * time.Second

func probeBackend(ctx context.Context) []Check {
	path, err := linux.FindBwrap("", func(string) bool { return false })
	if err != nil {
		return []Check{failed("bubblewrap", refusedBwrap(err))}
	}
	checks := []Check{{Name: "bubblewrap", Status: CheckOK, Message: path}}
	for _, p := range probes {
		checks = append(checks, p.run(ctx))
	}
	return append(checks, probeCapture(ctx))
}

// probeCapture says how far connections of programs that ignore the proxy
// variables are caught here.
func probeCapture(ctx context.Context) Check {
	const name = "transparent egress"
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	cmd := Command(ctx, policy.Policy{}, "true")
	cmd.Dir = "/"
	if err := cmd.Run(); err != nil {
		return failed(name, err)
	}
	for _, w := range cmd.Result().Plan.Weaknesses {
		if w.ID == "no-transparent" {
			return Check{Name: name, Status: CheckWarning, Message: w.Text, Hint: "sudo modprobe -a nf_tables nft_redir nft_chain_nat"}
		}
	}
	return Check{Name: name, Status: CheckOK, Message: "programs that ignore proxy variables are held to the policy too"}
}

// probe is a shell line that a default run must refuse. Each first shows that
// the tool it uses works at all, and prints "held" or what got through.
type probe struct {
	name, line, held string
}

var probes = []probe{
	{"sandbox", "echo held", "a command runs inside"},
	{"writes", ": >/dev/null && if (: >/var/tmp/gosrt-probe.$$) 2>/dev/null; then rm -f /var/tmp/gosrt-probe.$$; echo 'a file was created in /var/tmp'; else echo held; fi", "writing outside is refused"},
	{"processes", "if [ $$ -gt 100 ]; then echo 'the host processes are visible'; else echo held; fi", "other processes are not visible"},
	{"privileges", "read -r _ caps <<E\n$(grep CapEff /proc/self/status)\nE\n[ \"$caps\" = 0000000000000000 ] && echo held || echo \"capabilities $caps\"", "no capability, no new privileges"},
	{"filter", "read -r _ mode <<E\n$(grep '^Seccomp:' /proc/self/status)\nE\n[ \"$mode\" = 2 ] && echo held || echo 'no system call filter'", "the system call filter is installed"},
	{"network", "n=0; while read -r name _; do case $name in lo:|*'|'*|Inter-*|face*) ;; *) n=1;; esac; done </proc/net/dev; [ $n = 0 ] && echo held || echo 'a network interface of the host is visible'", "no interface but loopback"},
}

func (p probe) run(ctx context.Context) Check {
	dir, err := os.MkdirTemp("", "gosrt-probe-")
	if err != nil {
		return failed(p.name, err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	vars := policy.Vars{Home: os.Getenv("HOME"), Env: os.Environ()}
	cmd := Command(ctx, policy.Builtin(vars, dir), "/bin/sh", "-c", p.line)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return failed(p.name, err)
	}
	if said := strings.TrimSpace(string(out)); said != "held" {
		return Check{Name: p.name, Status: CheckError, Message: said}
	}
	return Check{Name: p.name, Status: CheckOK, Message: p.held}
}

func failed(name string, err error) Check {
	c := Check{Name: name, Status: CheckError, Message: err.Error()}
	var refused *RefusedError
	if errors.As(err, &refused) {
		c.Hint = refused.Hint
	}
	return c
}
