package stage

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Forwardable are the signals that a caller may send to the supervisor for the
// command; bwrap must survive all of them.
var Forwardable = []syscall.Signal{
	unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2,
}

// signalRelay passes the supervisor's signals to the command.
//
// Supervisor, stage and command share a process group, so that a terminal's
// Ctrl-C and Ctrl-Z reach the command as they would without gosrt. The
// supervisor cannot tell such a signal from one sent to it alone; the stage can,
// because the first kind reaches the stage too.
type signalRelay struct {
	grace      time.Duration // between SIGTERM and SIGKILL
	interrupts int

	mu      sync.Mutex
	last    map[syscall.Signal]time.Time // when this process got its own copy
	arrived chan struct{}                // holds one while last has news
}

const (
	// groupDelay is how long after a forwarded signal the stage's own copy of a
	// group-wide one may still arrive.
	groupDelay = 20 * time.Millisecond
	// groupMemory is how long a copy counts. Copies cannot be counted instead:
	// of those that are pending at once a process gets one (signal(7)), and
	// the supervisor may get more of them than the stage, or fewer.
	groupMemory = 100 * time.Millisecond
)

// newSignalRelay also keeps pid 1 alive through the signals that a terminal
// sends to its group. Signals that the caller ignored (nohup) stay ignored.
func newSignalRelay(grace time.Duration) *signalRelay {
	r := &signalRelay{grace: grace, last: map[syscall.Signal]time.Time{}, arrived: make(chan struct{}, 1)}
	own := make(chan os.Signal, 64)
	for _, s := range Forwardable {
		if !signal.Ignored(s) {
			signal.Notify(own, s)
		}
	}
	go r.note(own)
	return r
}

func (r *signalRelay) note(own <-chan os.Signal) {
	for s := range own {
		r.mu.Lock()
		r.last[s.(syscall.Signal)] = time.Now()
		r.mu.Unlock()
		select {
		case r.arrived <- struct{}{}:
		default:
		}
	}
}

func (r *signalRelay) hadLately(sig syscall.Signal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, had := r.last[sig]
	return had && time.Since(at) < groupMemory
}

// run serves the supervisor's messages, those that came early first, until its
// end closes.
func (r *signalRelay) run(command int, early []Message) {
	for _, m := range early {
		r.serve(command, m)
	}
	for {
		m, err := Receive(FDControl)
		if err != nil {
			return
		}
		r.serve(command, m)
	}
}

func (r *signalRelay) serve(command int, m Message) {
	switch m.Kind {
	case MsgSignal:
		r.forward(command, syscall.Signal(NumberOf(m.Data)))
	case MsgForeground:
		foreground(command)
	case MsgOpen:
		OpenSockets(m) // the supervisor waits no longer once its end is closed
	}
}

// forward passes sig on. A second SIGINT that the command cannot or did not end
// on is escalated: one sent to the supervisor alone always, one from the
// terminal only when the command ignores SIGINT outright, because a program
// that handles it (an interpreter's prompt) has decided.
func (r *signalRelay) forward(command int, sig syscall.Signal) {
	fromTerminal := sig != unix.SIGKILL && r.groupHad(command, sig)
	if !fromTerminal {
		unix.Kill(command, sig)
	}
	if sig != unix.SIGINT || fromTerminal && !ignores(command, sig) {
		return
	}
	if r.interrupts++; r.interrupts == 2 {
		unix.Kill(command, unix.SIGTERM)
		time.AfterFunc(r.grace, func() { unix.Kill(command, unix.SIGKILL) })
	}
}

// ignores reads the command's ignored signals from SigIgn in proc_pid_status(5).
func ignores(pid int, sig syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(status, []byte("SigIgn:\t"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	mask, err := strconv.ParseUint(string(line), 16, 64)
	return err == nil && mask&(1<<(uint(sig)-1)) != 0
}

// groupHad reports whether sig came to the whole group, command included.
func (r *signalRelay) groupHad(command int, sig syscall.Signal) bool {
	mine, err1 := unix.Getpgid(0)
	its, err2 := unix.Getpgid(command)
	if err1 != nil || err2 != nil || mine != its {
		return false
	}
	timeout := time.After(groupDelay)
	for !r.hadLately(sig) {
		select {
		case <-r.arrived:
		case <-timeout:
			return false
		}
	}
	return true
}

// foreground gives the command's group the terminal and continues it, after the
// user's shell has continued the supervisor.
func foreground(command int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ttou, old unix.Sigset_t
	ttou.Val[0] = 1 << (uint(unix.SIGTTOU) - 1)
	// A background process that changes the terminal is stopped by SIGTTOU
	// unless it blocks it (tcsetpgrp(3)).
	unix.PthreadSigmask(unix.SIG_BLOCK, &ttou, &old)
	if group, err := unix.Getpgid(command); err == nil && group > 0 {
		if tty, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
			unix.IoctlSetPointerInt(tty, unix.TIOCSPGRP, group)
			unix.Close(tty)
		}
		unix.Kill(-group, unix.SIGCONT)
	}
	unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	unix.Kill(command, unix.SIGCONT)
}
