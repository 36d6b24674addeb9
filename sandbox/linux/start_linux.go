package linux

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux/stage"
)

// Config is one run.
type Config struct {
	Plan *policy.Plan
	// Bwrap is the absolute path of bubblewrap (FindBwrap).
	Bwrap string
	// Stdin, Stdout and Stderr are the command's; none may be nil. They stay open.
	Stdin, Stdout, Stderr *os.File
	// Grace is the time between SIGTERM and SIGKILL when a second SIGINT escalates.
	Grace time.Duration
	// OnNetwork receives the sockets inside before the command starts, and
	// owns them. Nil: they are closed.
	OnNetwork func(*Network) error
	// OnNotify receives the seccomp listener before the command starts. Nil: no
	// notification filter is installed.
	OnNotify func(fd int) error
	// OnStop is told when the command stopped (true) or continued (false).
	OnStop func(bool)
}

// Process is a started run.
type Process struct {
	control *os.File
	sockets *stageSockets
	mountNS chan int      // one descriptor, when the supervisor has mounts to add
	started chan error    // one value: nil when the command runs
	done    chan struct{} // closed when bwrap is gone
	heard   chan struct{} // closed when every message of the stage is read

	mu     sync.Mutex
	status stage.Status
	seen   bool // status came from the stage
	kill   func()
}

// SetupError says that the limits could not be put up. The command did not run.
type SetupError struct {
	Stage string // "bwrap", "stage", "network", "supervisor"
	Text  string // one or more lines as the failing part said them
}

func (e *SetupError) Error() string { return e.Stage + ": " + e.Text }

// Start puts up the limits and starts the command. It returns once the command
// runs, or with a *SetupError when it did not and will not. A command that is
// missing or not executable is no error here: Wait reports it.
func Start(c Config) (*Process, error) {
	ours, theirs, err := stage.SocketPair()
	if err != nil {
		return nil, &SetupError{"supervisor", err.Error()}
	}
	defer theirs.Close()
	cmd, files, err := bwrapCommand(c, theirs)
	if err != nil {
		closeAll(files)
		ours.Close()
		return nil, &SetupError{"supervisor", err.Error()}
	}
	p := &Process{control: ours, sockets: newStageSockets(ours), mountNS: make(chan int, 1), started: make(chan error, 1), done: make(chan struct{}), heard: make(chan struct{})}
	var bwrapSaid bytes.Buffer
	cmd.Stderr = &bwrapSaid
	spawned := make(chan error)
	go p.supervise(cmd, spawned)
	if err := <-spawned; err != nil {
		closeAll(files)
		ours.Close()
		return nil, &SetupError{"bwrap", err.Error()}
	}
	// Whatever of the inside's ends stays open here would hide its death from read.
	theirs.Close()
	closeAll(files)
	go p.read(c)
	if err := p.prepareNetwork(c); err != nil {
		p.settle(err)
	}
	if err := <-p.started; err != nil {
		p.Kill()
		<-p.done
		return nil, p.explain(err, bwrapSaid.String())
	}
	return p, nil
}

// prepareNetwork gives the inside its network and then lets the command start.
func (p *Process) prepareNetwork(c Config) error {
	n, err := setUpNetwork(p.sockets.open, c.Plan)
	if errors.Is(err, errStageEnded) {
		return err // read knows why
	}
	if err != nil {
		return &SetupError{"network", err.Error()}
	}
	if c.OnNetwork == nil {
		n.Close()
	} else if err := c.OnNetwork(n); err != nil {
		n.Close()
		return &SetupError{"supervisor", err.Error()}
	}
	if err := p.cover(c.Plan); err != nil {
		return &SetupError{"mounts", err.Error()}
	}
	return stage.Send(int(p.control.Fd()), stage.Message{Kind: stage.MsgReady})
}

// cover makes the mounts that bwrap was spared. The stage sent its namespace
// before it answered anything else.
func (p *Process) cover(plan *policy.Plan) error {
	_, covers := splitCovers(plan.Mounts)
	if len(covers) == 0 {
		return nil
	}
	select {
	case fd := <-p.mountNS:
		defer unix.Close(fd)
		return coverFiles(fd, covers)
	default:
		return errors.New("BUG(gosrt): the stage sent no mount namespace")
	}
}

// explain prefers what the inner part said over the bare end of its socket.
func (p *Process) explain(err error, bwrapSaid string) error {
	var setup *SetupError
	if errors.As(err, &setup) {
		return setup
	}
	said := strings.TrimSpace(bwrapSaid)
	if said == "" {
		said = err.Error()
	}
	return &SetupError{"bwrap", strings.TrimPrefix(said, "bwrap: ")}
}

// supervise starts bwrap and waits for it on one OS thread: Pdeathsig fires
// when the thread that forked ends (prctl(2)), so that thread must live as long
// as the run. Signals are blocked around the fork because bwrap would die of a
// Ctrl-C that the command may want to handle; the stage unblocks them.
func (p *Process) supervise(cmd *exec.Cmd, spawned chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	restore := blockSignals()
	err := cmd.Start()
	restore()
	if err == nil {
		p.mu.Lock()
		p.kill = func() { cmd.Process.Kill() }
		p.mu.Unlock()
	}
	spawned <- err
	if err != nil {
		return
	}
	cmd.Wait() // its own status says nothing: the stage reports the command's
	close(p.done)
}

func blockSignals() (restore func()) {
	var set, old unix.Sigset_t
	for _, s := range stage.Forwardable {
		set.Val[0] |= 1 << (uint(s) - 1)
	}
	unix.PthreadSigmask(unix.SIG_BLOCK, &set, &old)
	return func() { unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil) }
}

// bwrapCommand prepares bwrap with the descriptors stage.FDArgs and up. The returned
// files are the caller's to close once bwrap is started.
func bwrapCommand(c Config, control *os.File) (*exec.Cmd, []*os.File, error) {
	data, err := stageValue(c)
	if err != nil {
		return nil, nil, err
	}
	plan := *c.Plan
	plan.Mounts, _ = splitCovers(plan.Mounts)
	words := Argv(&plan, FeaturesOf(c.Bwrap))
	var files []*os.File
	open := func(f *os.File, e error) {
		err = errors.Join(err, e)
		files = append(files, f)
	}
	open(memfd("gosrt-args", []byte(strings.Join(words, "\x00")+"\x00")))
	open(dup(control))
	open(memfd("gosrt-stage", data))
	open(os.Open("/proc/self/exe"))
	open(dup(c.Stderr))
	for range emptyFiles(c.Plan.Mounts) {
		open(memfd("gosrt-empty", nil))
	}
	if err != nil {
		return nil, files, err
	}
	cmd := &exec.Cmd{
		Path:        c.Bwrap,
		Args:        []string{"bwrap", "--args", fmt.Sprint(stage.FDArgs), "--", fmt.Sprintf("/proc/self/fd/%d", stage.FDSelf), stage.Word},
		Env:         stageEnv,
		Dir:         "/",
		Stdin:       c.Stdin,
		Stdout:      c.Stdout,
		ExtraFiles:  files,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL},
	}
	return cmd, files, nil
}

// stageEnv is the whole environment of bwrap and the stage: the loader that starts
// bwrap must see nothing of the caller's. The stage is small and mostly waits,
// so its Go runtime needs neither a second processor nor to collect before it
// holds this much; both cost each start a part of a millisecond. The command's
// environment is part of the Value.
var stageEnv = []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=16MiB"}

func stageValue(c Config) ([]byte, error) {
	arch, err := ArchOf(runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	s := NewStage(c.Plan)
	s.Grace = c.Grace
	if s.Filter, err = Filter(FilterConfig{
		Listener: c.OnNotify != nil, UnixSockets: c.OnNotify != nil, GroupSignals: stage.SignalsScoped(),
	}, arch); err != nil {
		return nil, err
	}
	if c.OnNotify != nil {
		if s.Notify, err = NotifyFilter(guardNotify, arch); err != nil {
			return nil, err
		}
	}
	return s.Encode(), nil
}

// memfd returns an anonymous file holding data, read from its start.
func memfd(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, err
	}
	_, err = f.Seek(0, io.SeekStart)
	return f, err
}

func dup(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("duplicate %s: %w", f.Name(), err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// read handles the stage's messages until its end closes.
func (p *Process) read(c Config) {
	defer close(p.heard)
	defer close(p.sockets.answers)
	fd := int(p.control.Fd())
	for {
		m, err := stage.Receive(fd)
		if err != nil {
			p.settle(errors.New("ended before the command was started"))
			return
		}
		if err := p.handle(c, m); err != nil {
			p.settle(err)
			p.Kill()
			return
		}
	}
}

func (p *Process) handle(c Config, m stage.Message) error {
	switch m.Kind {
	case stage.MsgSockets:
		p.sockets.answers <- m
	case stage.MsgMounts:
		if len(m.FDs) != 1 {
			return &SetupError{"stage", "sent no mount namespace"}
		}
		p.mountNS <- m.FDs[0]
	case stage.MsgNotify:
		if len(m.FDs) != 1 || c.OnNotify == nil {
			return &SetupError{"stage", "sent no notification listener"}
		}
		return c.OnNotify(m.FDs[0])
	case stage.MsgStarted:
		p.settle(nil)
	case stage.MsgStopped, stage.MsgContinued:
		if c.OnStop != nil {
			c.OnStop(m.Kind == stage.MsgStopped)
		}
	case stage.MsgFailed:
		return &SetupError{"stage", string(m.Data)}
	case stage.MsgExit:
		s, err := stage.DecodeStatus(m.Data)
		p.mu.Lock()
		p.status, p.seen = s, err == nil
		p.mu.Unlock()
		p.settle(nil)
	}
	return nil
}

// settle answers Start, once.
func (p *Process) settle(err error) {
	select {
	case p.started <- err:
	default:
	}
}

// Signal sends sig to the command. A signal that the terminal has already sent
// to the whole process group is not sent twice.
func (p *Process) Signal(sig syscall.Signal) error {
	return stage.Send(int(p.control.Fd()), stage.Message{Kind: stage.MsgSignal, Data: stage.Number(int(sig))})
}

// Foreground gives the command the terminal again and continues it.
func (p *Process) Foreground() error {
	return stage.Send(int(p.control.Fd()), stage.Message{Kind: stage.MsgForeground})
}

// Kill ends everything inside at once.
func (p *Process) Kill() {
	p.mu.Lock()
	kill := p.kill
	p.mu.Unlock()
	if kill != nil {
		kill()
	}
}

// Wait returns how the command ended, after every process inside is gone. A run
// whose stage ended without a word was killed from outside.
func (p *Process) Wait() stage.Status {
	<-p.done
	<-p.heard // the last stage.Message may still be on its way
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.seen {
		return stage.Status{Ran: true, Signal: unix.SIGKILL}
	}
	return p.status
}
