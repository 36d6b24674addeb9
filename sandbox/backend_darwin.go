package sandbox

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/darwin"
)

// startBackend runs the plan under a Seatbelt profile. macOS has no network
// namespace, so the proxy listens on a loopback port of this host, and the plan
// is compiled again for that port.
func startBackend(_ string, b backendConfig) (running, error) {
	relayed, err := listenPublished(relayedPorts(b.plan.Network.Publish))
	if err != nil {
		return running{}, err
	}
	if err := serveProxy(b); err != nil {
		return running{}, errors.Join(err, closePublished(relayed))
	}
	p, err := darwin.Start(darwin.Config{
		Plan: b.plan, FS: osFS{}, Stdin: b.stdin, Stdout: b.stdout, Stderr: b.stderr,
		OnViolation: b.violation, OnStop: b.onStop,
	})
	if err != nil {
		return running{}, errors.Join(refusedSeatbelt(err), closePublished(relayed))
	}
	for _, r := range relayed {
		r.relay(b)
	}
	return running{
		wait: func() Result {
			return seatbeltResult(p.Wait())
		},
		signal: p.Signal, kill: p.Kill, foreground: p.Foreground,
	}, nil
}

// serveProxy listens, and makes the plan name the port.
func serveProxy(b backendConfig) error {
	if credentialed(b.plan.Network.Upstream, os.Getenv) {
		return &RefusedError{
			Feature: "upstream proxy with a password",
			Got:     "on macOS every local program could use it through gosrt's port",
			Hint:    "use an upstream without a password",
		}
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	plan, err := b.compile(uint16(l.Addr().(*net.TCPAddr).Port))
	if err != nil {
		return errors.Join(err, l.Close())
	}
	*b.plan = *plan
	b.serve(l)
	return nil
}

func (p published) relay(b backendConfig) {
	for _, l := range p.listeners {
		b.background(func() { b.proxy.Forward(l, dialHost(p.inside)) })
	}
}

func seatbeltResult(s darwin.Status) Result {
	switch {
	case s.Missing:
		return Result{Outcome: NotFound, Status: StatusNotFound, Detail: s.Detail}
	case s.NotExecutable:
		return Result{Outcome: NotExecutable, Status: StatusNotExecutable, Detail: s.Detail}
	case s.Signal != 0:
		return Result{Outcome: Signaled, Status: StatusSignal + int(s.Signal), Signal: s.Signal}
	}
	return Result{Outcome: Exited, Status: s.Code}
}

// support: the profile refuses names that are not there yet by itself; there is
// no capture of programs that ignore the proxy.
func support() policy.Support {
	return policy.Support{Why: map[string]string{"Transparent": "macOS has no network namespaces"}}
}

// RenderArgv is what would be run for the plan: sandbox-exec with the profile.
func RenderArgv(p *policy.Plan) []string {
	rendered, err := darwin.Profile(darwin.OnDisk(p, osFS{}), darwin.Options{})
	if err != nil {
		rendered.Text = "; " + err.Error()
	}
	return append([]string{"/usr/bin/sandbox-exec", "-p", rendered.Text, "--"}, p.Argv...)
}

// probeBackend runs a program that does nothing under the profile of a policy
// that grants nothing.
func probeBackend(ctx context.Context, _ []string) []Check {
	const name = "seatbelt"
	if _, err := exec.LookPath("/usr/bin/sandbox-exec"); err != nil {
		return []Check{{Name: name, Status: CheckError, Message: err.Error()}}
	}
	if err := Command(ctx, policy.Policy{}, "/usr/bin/true").Run(); err != nil {
		return []Check{{Name: name, Status: CheckError, Message: err.Error()}}
	}
	return []Check{{Name: name, Status: CheckOK, Message: "a command runs inside"}}
}

// ProbeInside has nothing to try: on macOS the profile's compiler and kernel are
// asked by the run itself.
func ProbeInside(io.Writer) error { return nil }
