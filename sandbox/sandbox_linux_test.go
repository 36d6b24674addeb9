//go:build unix

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux/stage"
)

// need skips where this host cannot run the sandbox, and fails there when
// GOSRT_TEST_NEED=all says that it must.
func need(t *testing.T) {
	t.Helper()
	c := Command(t.Context(), policy.Policy{}, "true")
	c.Dir = "/"
	if err := c.Run(); err != nil {
		if os.Getenv("GOSRT_TEST_NEED") == "all" {
			t.Fatalf("the sandbox must work here: %v", err)
		}
		t.Skipf("no sandbox on this host: %v", err)
	}
}

// home is a checkout beneath a home directory of its own.
type home struct{ dir, work string }

func newHome(t *testing.T) home {
	t.Helper()
	need(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := home{base, filepath.Join(base, "work")}
	if err := os.Mkdir(h.work, 0o755); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h home) env() []string { return []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH")} }

func (h home) command(ctx context.Context, name string, args ...string) *Cmd {
	vars := policy.Vars{Home: h.dir, Env: h.env()}
	c := Command(ctx, policy.Builtin(vars, h.work), name, args...)
	c.Dir, c.Env = h.work, h.env()
	return c
}

func (h home) sh(t *testing.T, script string) (string, error) {
	t.Helper()
	out, err := h.command(t.Context(), "sh", "-c", script).CombinedOutput()
	return string(out), err
}

func TestOutcomes(t *testing.T) {
	h := newHome(t)
	if err := os.WriteFile(filepath.Join(h.work, "plain"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.work, "noshebang"), []byte("exit 9\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		argv    []string
		outcome Outcome
		status  int
	}{
		{[]string{"true"}, Exited, 0},
		{[]string{"sh", "-c", "exit 42"}, Exited, 42},
		{[]string{"sh", "-c", "exit 125"}, Exited, 125}, // the outcome tells it from a refusal
		{[]string{"sh", "-c", "kill -9 $$"}, Signaled, 137},
		{[]string{"sh", "-c", "kill -TERM $$"}, Signaled, 143},
		{[]string{"nope"}, NotFound, 127},
		{[]string{"./nope"}, NotFound, 127},
		{[]string{"./plain"}, NotExecutable, 126},
		{[]string{h.work}, NotExecutable, 126},
		{[]string{"./noshebang"}, Exited, 9},
	} {
		c := h.command(t.Context(), tt.argv[0], tt.argv[1:]...)
		err := c.Run()
		r := c.Result()
		if r.Outcome != tt.outcome || r.Status != tt.status {
			t.Errorf("%q: %s, status %d (%v), want %s, %d", tt.argv, r.Outcome, r.Status, err, tt.outcome, tt.status)
		}
		var exit *ExitError
		if (tt.status == 0) != (err == nil) || err != nil && !errors.As(err, &exit) {
			t.Errorf("%q: error %v", tt.argv, err)
		}
	}
}

func TestArgumentsArriveByteForByte(t *testing.T) {
	h := newHome(t)
	args := []string{"%s|", "a b", "$HOME", "", "x'y", "new\nline", "\xff\xfe", "--", "-c"}
	out, err := h.command(t.Context(), "printf", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(args[1:], "|") + "|"; string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestStreams(t *testing.T) {
	h := newHome(t)
	c := h.command(t.Context(), "sh", "-c", "cat; echo err >&2")
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader("in"), &out, &errs
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	if out.String() != "in" || errs.String() != "err\n" {
		t.Errorf("out %q, err %q", out.String(), errs.String())
	}
}

// A reader that never ends must not keep Wait from returning.
func TestInputThatNeverEnds(t *testing.T) {
	h := newHome(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := h.command(t.Context(), "true")
	c.Stdin = struct{ *os.File }{r}
	done := make(chan error, 1)
	go func() { done <- c.Run() }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Run waits for input that nobody reads")
	}
}

func TestTimeLimit(t *testing.T) {
	h := newHome(t)
	for _, tt := range []struct{ name, script string }{
		{"ends on TERM", "sleep 60"},
		{"ignores TERM", "trap '' TERM; while :; do sleep 1; done"},
	} {
		c := h.command(t.Context(), "sh", "-c", tt.script)
		c.Timeout, c.Grace = 200*time.Millisecond, 300*time.Millisecond
		began := time.Now()
		c.Run()
		if r := c.Result(); r.Outcome != TimedOut || r.Status != StatusTimedOut {
			t.Errorf("%s: %+v", tt.name, r)
		}
		if d := time.Since(began); d > 50*time.Second {
			t.Errorf("%s: took %v", tt.name, d)
		}
	}
}

func TestCancelledContext(t *testing.T) {
	h := newHome(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := h.command(ctx, "sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := c.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait: %v", err)
	}
	if err := h.command(ctx, "true").Start(); !errors.Is(err, context.Canceled) {
		t.Errorf("Start with an ended context: %v", err)
	}
}

// The command's own handler decides about each signal, and its status counts.
func TestSignalsReachTheCommand(t *testing.T) {
	h := newHome(t)
	for _, sig := range []syscall.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	} {
		// Under nohup the command would start with SIGHUP ignored, and no shell
		// can trap what it found ignored.
		caught := make(chan os.Signal, 1)
		signal.Notify(caught, sig)
		defer signal.Stop(caught)
		c := h.command(t.Context(), "sh", "-c", fmt.Sprintf("trap 'exit 7' %d; echo ready; while :; do sleep 0.05; done", int(sig)))
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c.Stdout = w
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		r.Read(make([]byte, 16))
		if err := c.Signal(sig); err != nil {
			t.Errorf("%v: %v", sig, err)
		}
		c.Wait()
		r.Close()
		if got := c.Result().Status; got != 7 {
			t.Errorf("%v: status %d, want the handler's 7", sig, got)
		}
	}
}

func TestNothingInheritedReachesTheCommand(t *testing.T) {
	h := newHome(t)
	secret, err := os.Open("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	// A descriptor without close-on-exec, as a careless caller leaves it.
	leaked, err := syscall.Dup(int(secret.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leaked)
	out, err := h.sh(t, "ls /proc/self/fd | sort -n | tr '\\n' ' '")
	if err != nil {
		t.Fatal(out, err)
	}
	if out != "0 1 2 3 " { // 3 is the directory that ls reads
		t.Errorf("descriptors inside: %s", out)
	}
}

func TestStageIsOutOfReach(t *testing.T) {
	h := newHome(t)
	for _, script := range []string{
		"cat /proc/1/environ", "readlink /proc/1/fd/4", "cat /proc/1/exe >/dev/null", "cat /proc/1/maps", "readlink /proc/1/cwd",
		"kill -9 1; kill -STOP 1; cat /proc/1/mem",
	} {
		if out, err := h.sh(t, script); err == nil {
			t.Errorf("%s: succeeded: %s", script, out)
		}
	}
}

// The real value of a removed variable is nowhere in /proc inside, and what
// bwrap and the stage show outside holds neither it nor the arguments.
func TestRemovedVariableIsNowhere(t *testing.T) {
	h := newHome(t)
	const canary = "canary-3f9a"
	c := h.command(t.Context(), "sh", "-c", "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'")
	c.Env = append(h.env(), "GITHUB_TOKEN="+canary, "LD_PRELOAD=/"+canary)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	if !bytes.Contains(out, []byte("HOME=")) {
		t.Errorf("the environment is not there at all: %s", out)
	}
	if bytes.Contains(out, []byte(canary)) {
		t.Errorf("the value is visible inside:\n%s", out)
	}
}

func TestManyAtOnceWithDifferentPolicies(t *testing.T) {
	h := newHome(t)
	const n = 8
	errs := make(chan error, n)
	for i := range n {
		go func() {
			dir := filepath.Join(h.dir, fmt.Sprint("w", i))
			os.Mkdir(dir, 0o755)
			own := home{h.dir, dir}
			other := filepath.Join(h.dir, fmt.Sprint("w", (i+1)%n))
			out, err := own.command(context.Background(), "sh", "-c", fmt.Sprintf("echo %d > mine && ! (echo x > %s/stolen) 2>/dev/null", i, other)).CombinedOutput()
			if err != nil {
				err = fmt.Errorf("run %d: %w: %s", i, err, out)
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(h.dir, "w*", "stolen")); len(found) > 0 {
		t.Errorf("written across: %q", found)
	}
}

// Listeners, processes and descriptors are all given back.
func TestRunsLeaveNothingBehind(t *testing.T) {
	h := newHome(t)
	run := func() {
		if out, err := h.sh(t, "sleep 100 & (setsid sleep 100 &); true"); err != nil {
			t.Fatal(out, err)
		}
	}
	run()
	before := openDescriptors(t)
	for range 10 {
		run()
	}
	// The guard gives its own back in the background. No garbage collection here:
	// it would close what was forgotten.
	after := openDescriptors(t)
	for began := time.Now(); after > before+2 && time.Since(began) < time.Minute; after = openDescriptors(t) {
		time.Sleep(10 * time.Millisecond)
	}
	if after > before+2 {
		t.Errorf("descriptors: %d before, %d after", before, after)
	}
	out, _ := exec.Command("pgrep", "-P", fmt.Sprint(os.Getpid())).Output()
	if len(bytes.Fields(out)) > 1 { // pgrep itself
		t.Errorf("children left: %s", out)
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestRefusalWithoutBwrap(t *testing.T) {
	h := newHome(t)
	c := h.command(t.Context(), "touch", "ran")
	c.Policy.Bwrap = filepath.Join(h.dir, "no-bwrap")
	var refused *RefusedError
	if err := c.Run(); !errors.As(err, &refused) {
		t.Errorf("error %v, want a refusal", err)
	}
	if r := c.Result(); r.Outcome != Refused || r.Status != StatusRefused {
		t.Errorf("result %+v", r)
	}
	if _, err := os.Stat(filepath.Join(h.work, "ran")); err == nil {
		t.Error("the command ran")
	}
}

func TestBwrapThatTheCommandCouldWriteIsRefused(t *testing.T) {
	h := newHome(t)
	planted := filepath.Join(h.work, "bwrap")
	if err := os.WriteFile(planted, []byte("#!/bin/sh\ntouch "+h.work+"/ran\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := h.command(t.Context(), "true")
	c.Policy.Bwrap = planted
	var refused *RefusedError
	if err := c.Run(); !errors.As(err, &refused) || !strings.Contains(err.Error(), "lets the command write") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(h.work, "ran")); err == nil {
		t.Error("the planted bwrap ran")
	}
}

// A bwrap that fails, dies or says nothing must never let the command run.
func TestBrokenBwrap(t *testing.T) {
	h := newHome(t)
	for _, script := range []string{
		"#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n",
		"#!/bin/sh\nexit 0\n",
		"#!/bin/sh\nkill -9 $$\n",
		"not a program",
	} {
		fake := filepath.Join(h.dir, "bwrap")
		if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		c := h.command(t.Context(), "touch", "ran")
		c.Policy.Bwrap = fake
		var refused *RefusedError
		if err := c.Run(); !errors.As(err, &refused) {
			t.Errorf("%q: error %v, want a refusal", script, err)
		}
		if _, err := os.Stat(filepath.Join(h.work, "ran")); err == nil {
			t.Errorf("%q: the command ran", script)
		}
	}
}

// A read-only mount does not keep a FIFO on it from being written into, and a
// standard descriptor leads back to the host's own mount: Landlock closes both.
func TestNoWayAroundTheMounts(t *testing.T) {
	h := newHome(t)
	if !stage.LandlockSupported() {
		t.Skip("this kernel has no Landlock; the plan says so as no-landlock")
	}
	place, err := os.MkdirTemp("/var/tmp", "gosrt-test-") // /tmp is another inside
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(place)
	outside := filepath.Join(place, "fifo")
	for _, path := range []string{outside, filepath.Join(h.work, "fifo")} {
		if err := syscall.Mkfifo(path, 0o666); err != nil {
			t.Fatal(err)
		}
		reader, err := os.OpenFile(path, os.O_RDWR, 0) // so that no writer waits
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
	}
	if out, err := h.sh(t, "echo x > fifo"); err != nil {
		t.Errorf("control: a FIFO in the write root: %v: %s", err, out)
	}
	if out, err := h.sh(t, "echo x > "+outside); err == nil || !strings.Contains(out, "Permission denied") {
		t.Errorf("a FIFO outside was written: %v: %s", err, out)
	}

	file := filepath.Join(place, "input")
	if err := os.WriteFile(file, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, script := range []string{"echo x > /proc/self/fd/0", "echo x >> /dev/stdin", "truncate -s 0 /proc/self/fd/0", "exec 5<>/proc/self/fd/0"} {
		c := h.command(t.Context(), "sh", "-c", script)
		c.Stdin = in
		if out, err := c.CombinedOutput(); err == nil {
			t.Errorf("%s: succeeded: %s", script, out)
		}
	}
	if data, _ := os.ReadFile(file); string(data) != "mine" {
		t.Errorf("the file that was standard input holds %q", data)
	}
}

func TestOutputMayBeReopened(t *testing.T) {
	h := newHome(t)
	out, err := os.Create(filepath.Join(h.dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := h.command(t.Context(), "sh", "-c", "echo a > /dev/stdout; echo b >> /proc/self/fd/2; echo c > /dev/null")
	c.Stdout, c.Stderr = out, out
	if err := c.Run(); err != nil {
		t.Error(err)
	}
	if data, _ := os.ReadFile(out.Name()); string(data) != "a\nb\n" {
		t.Errorf("got %q", data)
	}
}

func TestDirectoryAsInputIsRefused(t *testing.T) {
	h := newHome(t)
	dir, err := os.Open(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	c := h.command(t.Context(), "sh", "-c", "touch /proc/self/fd/0/evil; touch ran")
	c.Stdin = dir
	var refused *RefusedError
	if err := c.Run(); !errors.As(err, &refused) {
		t.Errorf("error %v, want a refusal", err)
	}
	for _, path := range []string{filepath.Join(h.dir, "evil"), filepath.Join(h.work, "ran")} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s exists", path)
		}
	}
}
