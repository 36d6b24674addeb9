package darwin

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/policy"
)

// Config is one run.
type Config struct {
	// Plan is compiled for darwin. HTTPPort and SOCKSPort are where the caller's
	// proxies already listen on 127.0.0.1 of the host, and Env names them.
	Plan *policy.Plan
	// FS is the host's file tree, asked for the disk's spelling of paths.
	FS policy.FS
	// Stdin, Stdout and Stderr are the command's; none may be nil. They stay open.
	Stdin, Stdout, Stderr *os.File
	// OnViolation receives each denial that the kernel's log shows. Nil: the log
	// is not followed.
	OnViolation func(policy.Violation)
	// OnStop is told when the command stopped (true) or continued (false).
	OnStop func(bool)
}

// Process is a started run.
type Process struct {
	group    int // process group, and the command's pid
	tty      *os.File
	monitor  *monitor
	tree     *tree
	cleanups []func()
	done     chan struct{}

	mu     sync.Mutex
	status Status
	over   bool // the group may belong to somebody else by now
}

// Start puts up the limits and starts the command. It returns once the command
// runs, or with a *SetupError when it did not and will not. A command that is
// missing or not executable is no error here: Wait reports it.
func Start(c Config) (_ *Process, err error) {
	p := &Process{done: make(chan struct{})}
	defer func() {
		if err != nil {
			p.cleanup()
		}
	}()
	plan, tag, hidden, err := p.prepare(c)
	if err != nil {
		return nil, setupError(err)
	}
	rendered, err := Profile(plan, Options{Tag: tag, TTYs: ttysOf(c.Stdin, c.Stdout, c.Stderr)})
	if err != nil {
		return nil, setupError(err)
	}
	file := filepath.Join(hidden, "profile.sb")
	if err := os.WriteFile(file, []byte(rendered.Text), 0o600); err != nil {
		return nil, setupError(err)
	}
	if err := preflight(file, plan); err != nil {
		return nil, setupError(err)
	}
	if _, s := executable(plan, resolveProgram); s.Missing || s.NotExecutable {
		p.cleanup()
		p.status = s
		close(p.done)
		return p, nil
	}
	if c.OnViolation != nil {
		p.monitor = startMonitor(tag, func(d denial) { c.OnViolation(d.violation(plan, rendered.Rules)) })
	}
	if err := p.launch(c, plan, file); err != nil {
		if p.monitor != nil {
			p.monitor.end()
		}
		return nil, setupError(err)
	}
	go p.supervise(c.OnStop)
	return p, nil
}

func setupError(err error) error {
	var setup *SetupError
	if errors.As(err, &setup) {
		return err
	}
	return &SetupError{"supervisor", err.Error()}
}

// prepare makes the run's own directories. The profile's lies outside of what
// the command may read: it holds the tag.
func (p *Process) prepare(c Config) (plan *policy.Plan, tag, hidden string, err error) {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return nil, "", "", err
	}
	tmp, err := p.ownDir("gosrt-tmp-")
	if err != nil {
		return nil, "", "", err
	}
	if hidden, err = p.ownDir("gosrt-run-"); err != nil {
		return nil, "", "", err
	}
	plan = Prepare(OnDisk(c.Plan, c.FS), Run{TmpDir: tmp, Hidden: hidden})
	if plan.DecideRead(hidden).Verdict == policy.Allow || plan.DecideWrite(hidden).Verdict == policy.Allow {
		return nil, "", "", fmt.Errorf("BUG(gosrt): the profile's directory %q would be open to the command", hidden)
	}
	return plan, hex.EncodeToString(random), hidden, nil
}

// ownDir makes a 0700 directory directly in /private/tmp: a short path, because
// a socket's path in it may have 103 bytes (sys/un.h).
func (p *Process) ownDir(prefix string) (string, error) {
	dir, err := os.MkdirTemp("/private/tmp", prefix)
	if err == nil {
		p.cleanups = append(p.cleanups, func() { removeAll(dir) })
	}
	return dir, err
}

// removeAll removes a tree although the command may have made it immutable
// (chflags uchg) or unlistable.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	filepath.WalkDir(dir, func(p string, d fs.DirEntry, _ error) error {
		clearFlags(p)
		if d != nil && d.IsDir() {
			os.Chmod(p, 0o700)
		}
		return nil
	})
	os.RemoveAll(dir)
}

// clearFlags takes the immutable flag off p itself: a link that the command left
// there must not lead it to one of the user's files.
func clearFlags(p string) {
	fd, err := unix.Open(p, unix.O_RDONLY|unix.O_SYMLINK|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Fchflags(fd, 0)
		unix.Close(fd)
	}
}

func (p *Process) cleanup() {
	for i := len(p.cleanups) - 1; i >= 0; i-- {
		p.cleanups[i]()
	}
	p.cleanups = nil
}

// preflight runs a program that does nothing under the profile.
func preflight(file string, plan *policy.Plan) error {
	args := launchArgs(file, []string{"/usr/bin/true"})
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = plan.Env
	cmd.Dir = "/"
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return &SetupError{"sandbox-exec", err.Error()}
	}
	return preflightFault(cmd.ProcessState.ExitCode(), said.String())
}

// resolveProgram is executable's view of the disk.
func resolveProgram(p string) (string, bool, error) {
	real, err := filepath.EvalSymlinks(p)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, errNotThere
	}
	if err != nil {
		return "", false, err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", false, err
	}
	return real, info.Mode().IsRegular() && unix.Access(real, unix.X_OK) == nil, nil
}

// launch starts sandbox-exec in a process group of its own, in the terminal's
// foreground when this process is there.
func (p *Process) launch(c Config, plan *policy.Plan, file string) error {
	closeInherited()
	args := launchArgs(file, plan.Argv)
	attr := &syscall.SysProcAttr{Setpgid: true}
	if p.tty = foregroundTTY(c.Stdin, c.Stdout, c.Stderr); p.tty != nil {
		attr.Foreground, attr.Ctty = true, int(p.tty.Fd())
	}
	proc, err := os.StartProcess(args[0], args, &os.ProcAttr{
		Dir: plan.Dir, Env: plan.Env, Files: []*os.File{c.Stdin, c.Stdout, c.Stderr}, Sys: attr,
	})
	if err != nil {
		return &SetupError{"sandbox-exec", err.Error()}
	}
	p.group = proc.Pid
	proc.Release()
	p.tree = followTree(p.group)
	return nil
}

// closeInherited keeps descriptors that this process was started with from the
// command: Seatbelt does not judge them again.
func closeInherited() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		for fd := 3; fd < 1024; fd++ {
			syscall.CloseOnExec(fd)
		}
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// supervise follows the command to its end, then ends what it left behind.
func (p *Process) supervise(onStop func(bool)) {
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(p.group, &ws, unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil && ws.Stopped():
			if onStop != nil {
				onStop(true)
			}
			continue
		}
		break
	}
	p.tree.end(p.group)
	if p.monitor != nil {
		p.monitor.drain()
	}
	p.mu.Lock()
	p.over = true
	p.status = Status{Ran: true, Code: ws.ExitStatus(), Core: ws.CoreDump()}
	if ws.Signaled() {
		p.status.Code, p.status.Signal = 0, ws.Signal()
	}
	p.mu.Unlock()
	p.cleanup()
	close(p.done)
}

// Wait returns how the command ended, after the processes it started are gone
// and the log is drained.
func (p *Process) Wait() Status {
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// Signal sends sig to the command's process group. After the end it does nothing.
func (p *Process) Signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.group == 0 {
		return nil
	}
	return unix.Kill(-p.group, sig)
}

// Foreground gives the command the terminal again and continues it.
func (p *Process) Foreground() error {
	if p.tty != nil {
		if err := unix.IoctlSetPointerInt(int(p.tty.Fd()), unix.TIOCSPGRP, p.group); err != nil {
			return err
		}
	}
	return p.Signal(unix.SIGCONT)
}

// Kill ends everything that the command started at once.
func (p *Process) Kill() { p.Signal(unix.SIGKILL) }

// terminalPollLimit bounds the search for a terminal's name.
const terminalPollLimit = 4096

// ttysOf names the terminals among the descriptors. Each is found by its device
// number, as ttyname(3) does.
func ttysOf(files ...*os.File) []string {
	wanted := map[int32]bool{}
	for _, f := range files {
		var st unix.Stat_t
		if isTerminal(f) && unix.Fstat(int(f.Fd()), &st) == nil {
			wanted[st.Rdev] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	names, _ := filepath.Glob("/dev/ttys[0-9]*")
	var out []string
	for _, name := range names[:min(len(names), terminalPollLimit)] {
		var st unix.Stat_t
		if unix.Stat(name, &st) == nil && wanted[st.Rdev] && ttyName.MatchString(name) {
			out = append(out, name)
		}
	}
	return out
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TIOCGETA)
	return err == nil
}

// foregroundTTY is a descriptor of the terminal whose foreground this process
// holds; nil when it holds none.
func foregroundTTY(files ...*os.File) *os.File {
	for _, f := range files {
		group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
		if err == nil && group == unix.Getpgrp() {
			return f
		}
	}
	return nil
}
