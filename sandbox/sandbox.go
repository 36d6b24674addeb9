package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/proxy"
)

// Cmd is one command to run in the sandbox. Fields are set before Start and not
// changed after. A Cmd is used once.
type Cmd struct {
	Policy policy.Policy
	// Args is the command and its arguments, byte for byte. Args[0] is looked
	// up inside, in the PATH that the command gets.
	Args []string
	// Dir is the working directory; empty: the caller's.
	Dir string
	// Env is the environment that the policy's [env] rules start from,
	// NAME=value. Nil: the caller's.
	Env []string
	// Stdin, Stdout and Stderr mean what they mean in os/exec; nil is /dev/null.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Cache is a private cache directory that the command may write, created
	// when missing. Empty: none.
	Cache string
	// Tunnel is the path of the gosrt command, which git's ssh then connects
	// through, so that a refusal says why. Empty: connections of ssh are captured.
	Tunnel string
	// Timeout ends the command, counted from Start. Zero: no limit.
	Timeout time.Duration
	// Grace is how long the command has between SIGTERM and SIGKILL after the
	// time limit or a cancelled context. Zero: two seconds.
	Grace time.Duration
	// ForwardSignals passes INT, TERM, HUP, QUIT, USR1 and USR2 that this
	// process receives to the command, and follows it when it is stopped. For
	// programs that are nothing but a wrapper.
	ForwardSignals bool

	// OnPlan is told what will be held, before the command can run.
	OnPlan func(*policy.Plan)
	// OnViolation is told of each denied request, from several goroutines.
	OnViolation func(policy.Violation)
	// OnConnect is told of each ended connection.
	OnConnect func(proxy.Connection)
	// Ask decides hosts that no rule decides, when the policy says ask. Nil denies.
	Ask func(context.Context, policy.HostPort) bool
	// Resolve looks names up that the policy allowed. Nil: the system's resolver.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)

	ctx     context.Context
	plan    *policy.Plan
	proxy   *proxy.Server
	io      *stdio
	run     running
	began   time.Time
	serving sync.WaitGroup
	over    chan struct{}  // closed when the command has ended
	signals chan os.Signal // with ForwardSignals
	// terminal: this process held the terminal's foreground at the start and
	// takes it back at the end.
	terminal bool

	mu       sync.Mutex
	timedOut bool
	stops    int // stop and continue reports so far
	result   Result
}

// running is a started backend: sandbox/linux or sandbox/darwin.
type running struct {
	wait       func() Result
	signal     func(syscall.Signal) error
	kill       func()
	foreground func() error
}

// backendConfig is what a backend needs of a Cmd.
type backendConfig struct {
	plan                  *policy.Plan
	stdin, stdout, stderr *os.File
	serve                 func(net.Listener)
	proxy                 *proxy.Server
	background            func(func())    // runs until the proxy is closed
	over                  <-chan struct{} // closed when the command has ended
	onStop                func(stopped bool)
	violation             func(policy.Violation)
	grace                 time.Duration
	// compile makes the plan again for a proxy that listens on a port of this host.
	compile func(proxyPort uint16) (*policy.Plan, error)
}

// Command returns a Cmd that runs name with args under pol. When ctx ends
// before the command does, the command is ended: SIGTERM, then SIGKILL.
func Command(ctx context.Context, pol policy.Policy, name string, args ...string) *Cmd {
	return &Cmd{Policy: pol, Args: append([]string{name}, args...), ctx: ctx}
}

// Plan compiles the policy for this host and command. It starts nothing and
// changes nothing.
func (c *Cmd) Plan() (*policy.Plan, error) { return c.compile(0) }

func (c *Cmd) compile(proxyPort uint16) (*policy.Plan, error) {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return nil, errors.New("no command")
	}
	dir := c.Dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	host := hostOf(env, c.Cache)
	host.Tunnel, host.ProxyPort = c.Tunnel, proxyPort
	return policy.Compile(c.Policy, host, policy.Command{Argv: c.Args, Dir: dir})
}

// Start puts up the limits and starts the command. A *RefusedError says that
// the command did not and will not run.
func (c *Cmd) Start() error {
	if c.run.wait != nil {
		return errors.New("already started")
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if c.Cache != "" {
		if err := os.MkdirAll(c.Cache, 0o700); err != nil {
			return err
		}
	}
	plan, err := c.Plan()
	if err != nil {
		return err
	}
	if c.OnPlan != nil {
		c.OnPlan(plan)
	}
	return c.start(plan)
}

func (c *Cmd) start(plan *policy.Plan) (err error) {
	if c.io, err = newStdio(c.Stdin, c.Stdout, c.Stderr); err != nil {
		return err
	}
	defer c.io.closeMine()
	c.plan, c.began, c.over = plan, time.Now(), make(chan struct{})
	c.terminal = c.ForwardSignals && ownsTerminal()
	c.proxy = &proxy.Server{
		Network: plan.Network, Resolve: c.Resolve, Ask: c.Ask,
		OnViolation: c.OnViolation, OnConnect: c.OnConnect,
		UpstreamEnv: os.Getenv, Self: selfServer(plan),
	}
	c.receiveSignals()
	c.run, err = startBackend(c.Policy.Bwrap, backendConfig{
		plan: plan, stdin: c.io.in, stdout: c.io.out, stderr: c.io.err,
		serve: c.serve, proxy: c.proxy, background: c.serving.Go, over: c.over, onStop: c.onStop, violation: c.OnViolation, grace: c.grace(), compile: c.compile,
	})
	if err != nil {
		c.dropSignals()
		c.proxy.Close()
		c.io.abandon()
		return err
	}
	c.watch()
	return nil
}

func (c *Cmd) serve(l net.Listener) { c.serving.Go(func() { c.proxy.Serve(l) }) }

// watch ends the command when its context or its time does.
func (c *Cmd) watch() {
	if c.ForwardSignals {
		go c.forwardSignals()
	}
	go func() {
		var expired <-chan time.Time
		if c.Timeout > 0 {
			timer := time.NewTimer(c.Timeout)
			defer timer.Stop()
			expired = timer.C
		}
		select {
		case <-c.over:
			return
		case <-c.ctx.Done():
		case <-expired:
			c.mu.Lock()
			c.timedOut = true
			c.mu.Unlock()
		}
		c.end()
	}()
}

// end asks the command to stop and makes it after the grace period.
func (c *Cmd) end() {
	c.run.signal(syscall.SIGTERM)
	select {
	case <-c.over:
	case <-time.After(c.grace()):
		c.run.kill()
	}
}

func (c *Cmd) grace() time.Duration {
	if c.Grace == 0 {
		return 2 * time.Second
	}
	return c.Grace
}

// Wait waits until the command and everything it started is gone and all output
// is copied. It returns an *ExitError for any end but exit status 0.
func (c *Cmd) Wait() error {
	if c.run.wait == nil {
		return errors.New("not started")
	}
	r := c.run.wait()
	close(c.over)
	if c.terminal {
		reclaimTerminal()
	}
	c.proxy.Close()
	c.serving.Wait()
	copyErr := c.io.wait()
	r.Plan, r.Time = c.plan, time.Since(c.began)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timedOut {
		r.Outcome, r.Status = TimedOut, StatusTimedOut
	}
	c.result = r
	switch {
	case c.ctx.Err() != nil:
		return c.ctx.Err()
	case r.Outcome != Exited || r.Status != 0:
		return &ExitError{r}
	}
	return copyErr
}

// Run is Start and Wait.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs the command and returns its standard output.
func (c *Cmd) Output() ([]byte, error) {
	if c.Stdout != nil {
		return nil, errors.New("sandbox: Stdout already set")
	}
	var b bytes.Buffer
	c.Stdout = &b
	err := c.Run()
	return b.Bytes(), err
}

// CombinedOutput runs the command and returns its output and errors together.
func (c *Cmd) CombinedOutput() ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, errors.New("sandbox: Stdout or Stderr already set")
	}
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	err := c.Run()
	return b.Bytes(), err
}

// Signal sends sig to the command.
func (c *Cmd) Signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok || c.run.signal == nil {
		return errors.New("not started")
	}
	return c.run.signal(s)
}

// Result says how the run ended. Before Wait has returned it is zero, which
// means refused.
func (c *Cmd) Result() Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.result.Outcome == "" {
		return Result{Outcome: Refused, Status: StatusRefused, Plan: c.plan}
	}
	return c.result
}

// SetNetwork changes the network rules of a running command. Connections that
// the new rules forbid are ended. Rules with an upstream proxy that cannot be
// understood are an error, and the old ones stay.
func (c *Cmd) SetNetwork(n policy.Network) error {
	if c.proxy == nil {
		return errors.New("not started")
	}
	return c.proxy.SetNetwork(n)
}
