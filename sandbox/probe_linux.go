package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux"
)

// probeTime is far above what a start takes on a slow machine.
const probeTime = 10 * time.Second

func probeBackend(ctx context.Context, inside []string) []Check {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	path, err := linux.FindBwrap("", func(string) bool { return false })
	if err != nil {
		return append([]Check{failed("bubblewrap", refusedBwrap(err))}, hostChecks(nil)...)
	}
	checks := []Check{{Name: "bubblewrap", Status: CheckOK, Message: strings.TrimSpace(path + " " + bwrapVersion(ctx, path))}}
	plan, escapes := probeEscapes(ctx, inside)
	return slices.Concat(checks, escapes, hostChecks(plan))
}

// bwrapVersion is what bwrap says of itself; the version decides nothing.
func bwrapVersion(ctx context.Context, path string) string {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(firstLine(string(out)), "bubblewrap ")
}

// probeEscapes lets the probe try everything in one run, and asks the bait
// outside whether anything arrived. Plan is nil when there was no run.
func probeEscapes(ctx context.Context, inside []string) (*policy.Plan, []Check) {
	const name = "sandbox"
	b, err := newBait()
	if err != nil {
		return nil, []Check{failed(name, err)}
	}
	defer b.close()
	cmd := Command(ctx, b.policy(inside[0]), inside[0], inside[1:]...)
	cmd.Dir = b.work
	cmd.Env = append(os.Environ(), b.environ()...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if said := firstLine(strings.TrimSpace(errs.String())); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return nil, []Check{failed(name, err)}
	}
	checks := []Check{{Name: name, Status: CheckOK, Message: "a command runs inside"}}
	return cmd.Result().Plan, append(checks, judge(out.Bytes(), b.arrived())...)
}

// judge turns what the probe found inside, and what arrived outside, into checks.
func judge(out []byte, arrived map[string]bool) []Check {
	var tries []try
	if err := json.Unmarshal(out, &tries); err != nil {
		return []Check{{Name: "probe", Status: CheckError, Message: "the probe inside said nothing that can be read"}}
	}
	var checks []Check
	for _, t := range tries {
		c := Check{Name: t.Name, Status: CheckOK, Message: "refused: " + t.Said}
		if !t.Held || arrived[t.Name] {
			c.Status, c.Message = CheckError, "not held: "+t.Said
			c.Hint = "please report this with the output of gosrt plan -- true"
		}
		checks = append(checks, c)
	}
	return checks
}

func failed(name string, err error) Check {
	c := Check{Name: name, Status: CheckError, Message: err.Error()}
	var refused *RefusedError
	if errors.As(err, &refused) {
		c.Hint = refused.Hint
	}
	return c
}

// policy is the built-in default with a hidden file of the bait's own. The probe
// itself is shown, wherever it lies.
func (b *bait) policy(probe string) policy.Policy {
	p := policy.Builtin(policy.Vars{Home: os.Getenv("HOME"), Env: os.Environ()}, b.work)
	rule := func(path string) policy.PathRule { return policy.PathRule{Text: path, Path: path} }
	p.Filesystem.DenyRead = append(p.Filesystem.DenyRead, rule(b.hidden))
	p.Filesystem.AllowRead = append(p.Filesystem.AllowRead, rule(filepath.Clean(probe)))
	return p
}
