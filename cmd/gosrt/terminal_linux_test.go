package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What a person types. Typed words that are waited for are split by quotes, so
// that the terminal's echo of the line is not taken for its output.
const (
	ctrlC    = "\x03"
	ctrlZ    = "\x1a"
	ctrlQuit = "\x1c"

	outer = "OUT> " // the prompts
	inner = "IN> "

	insideShell = `gosrt --env "PS1=IN> " -- bash --norc -i`
	sleeper     = `sh -c 'echo r"ea"dy; exec sleep 60'`
)

// terminal is a pseudo-terminal, pty(7), with an interactive shell as the leader
// of its session.
type terminal struct {
	t      *testing.T
	master *os.File
	shell  int // process and group
	dir    string

	mu      sync.Mutex
	screen  strings.Builder
	shown   int // how much of screen has been expected so far
	changed chan struct{}
}

func openTerminal(t *testing.T) *terminal {
	t.Helper()
	_, err := exec.LookPath("bash")
	need(t, err == nil, "bash")
	for _, s := range []os.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGHUP} {
		notIgnored(t, s)
	}
	master, slave := openPTY(t)
	defer slave.Close()
	cmd := gosrtCmd(t)
	shell := exec.Command("bash", "--norc", "-i")
	shell.Dir = cmd.Dir
	shell.Env = append(cmd.Env, "PS1="+outer, "TERM=dumb", "HISTFILE=", "LC_ALL=C")
	shell.Stdin, shell.Stdout, shell.Stderr = slave, slave, slave
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, master: master, shell: shell.Process.Pid, dir: shell.Dir, changed: make(chan struct{}, 1)}
	t.Cleanup(func() {
		endSession(t, term.shell)
		shell.Wait()
		master.Close()
	})
	go term.read()
	term.expect(outer)
	return term
}

func openPTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// endSession kills what is left of the shell's session, other process groups and
// stopped ones too.
func endSession(t *testing.T, leader int) {
	eventually(t, time.Minute, "processes of the terminal are left", func() bool {
		left := 0
		files, _ := filepath.Glob("/proc/[0-9]*")
		for _, f := range files {
			pid, _ := strconv.Atoi(filepath.Base(f))
			if sid, err := unix.Getsid(pid); err == nil && sid == leader && !isZombie(pid) {
				unix.Kill(pid, unix.SIGKILL)
				left++
			}
		}
		return left == 0
	})
}

// isZombie reads the state from proc_pid_stat(5).
func isZombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func (term *terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := term.master.Read(buf)
		if err != nil {
			return // EIO: nobody has the other side open
		}
		term.mu.Lock()
		term.screen.Write(buf[:n])
		term.mu.Unlock()
		select {
		case term.changed <- struct{}{}:
		default:
		}
	}
}

func (term *terminal) press(keys string) {
	term.t.Helper()
	if _, err := term.master.WriteString(keys); err != nil {
		term.t.Fatal(err)
	}
}

// line types a line and waits for each of want, in this order, behind it.
func (term *terminal) line(text string, want ...string) {
	term.t.Helper()
	term.press(text + "\n")
	term.expect(want...)
}

// key is the same for one that the terminal turns into a signal.
func (term *terminal) key(key string, want ...string) {
	term.t.Helper()
	term.press(key)
	term.expect(want...)
}

func (term *terminal) expect(want ...string) {
	term.t.Helper()
	for _, w := range want {
		if !term.appears(w, time.Minute) {
			term.fatal("no %q", w)
		}
	}
}

func (term *terminal) appears(want string, limit time.Duration) bool {
	deadline := time.After(limit)
	for !term.seen(want) {
		select {
		case <-term.changed:
		case <-deadline:
			return false
		}
	}
	return true
}

func (term *terminal) seen(want string) bool {
	term.mu.Lock()
	defer term.mu.Unlock()
	i := strings.Index(term.screen.String()[term.shown:], want)
	if i >= 0 {
		term.shown += i + len(want)
	}
	return i >= 0
}

func (term *terminal) fatal(format string, args ...any) {
	term.t.Helper()
	term.mu.Lock()
	defer term.mu.Unlock()
	term.t.Fatalf("%s; group %d in the foreground, the shell is %d; the screen:\n%s",
		fmt.Sprintf(format, args...), term.foreground(), term.shell, term.screen.String())
}

// status is the last command's, asked at the outer prompt. The answer shows that
// the shell has its terminal.
func (term *terminal) status(want int) {
	term.t.Helper()
	term.line(`echo "sta"tus=$?.`, fmt.Sprintf("status=%d.", want), outer)
}

// foreground is the terminal's foreground group. No key is pressed for a job
// before the job has the terminal.
func (term *terminal) foreground() (group int) {
	conn, err := term.master.SyscallConn()
	if err == nil {
		err = conn.Control(func(fd uintptr) { group, _ = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) })
	}
	if err != nil {
		return 0
	}
	return group
}

// resume types fg and waits until the job has the terminal.
func (term *terminal) resume() {
	term.t.Helper()
	shell := term.foreground()
	term.press("fg\n")
	eventually(term.t, time.Minute, "fg does not give the job the terminal", func() bool { return term.foreground() != shell })
}

func (term *terminal) resize(rows, columns uint16) {
	conn, err := term.master.SyscallConn()
	if err != nil {
		term.t.Fatal(err)
	}
	conn.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	})
	if err != nil {
		term.t.Fatal(err)
	}
}

// stillWorks runs a job that reads the terminal and ends by Ctrl-C.
func (term *terminal) stillWorks() {
	term.t.Helper()
	term.line(`sh -c 'echo r"ea"dy; exec cat'`, "ready")
	term.line("back", "back\r\nback\r\n") // its echo, and what cat read
	term.key(ctrlC, outer)
	term.status(130)
}

func TestTerminalStopAndInterrupt(t *testing.T) {
	t.Parallel()
	term := openTerminal(t)
	term.stillWorks() // the control: so it is without gosrt
	term.line("gosrt -- "+sleeper, "ready")
	term.key(ctrlZ, "Stopped", outer)
	term.line(`echo "st"ill`, "still", outer)
	term.resume()
	term.key(ctrlC, outer)
	term.status(130)
	term.stillWorks()
}

// A job in the background leaves the terminal to whoever has it.
func TestTerminalBackground(t *testing.T) {
	t.Parallel()
	term := openTerminal(t)
	term.line("set -b", outer) // the shell says at once that a job has ended
	term.line(`gosrt -- sh -c 'echo r"ea"dy; until test -e end; do sleep 0.05; done; exit 3'`, "ready")
	term.key(ctrlZ, "Stopped", outer)
	term.line("bg", outer)
	if err := os.WriteFile(filepath.Join(term.dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	term.expect("Exit 3")
	term.stillWorks()
}

// stopsItself is a command in a group of its own that stops alone.
const stopsItself = `gosrt -- python3 -c 'import os, time
os.setpgid(0, 0)
os.kill(os.getpid(), 19)
os.write(1, b"ba" + b"ck.")
while not os.path.exists("end"): time.sleep(0.05)'`

func TestTerminalBackgroundAfterStop(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("python3")
	need(t, err == nil, "python3")
	term := openTerminal(t)
	term.line("set -b", outer)
	term.line(stopsItself, "Stopped", outer)
	term.line("bg", "back.")
	term.stillWorks()
	if err := os.WriteFile(filepath.Join(term.dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	term.expect("Done")
	term.stillWorks()
}

func TestTerminalShellInside(t *testing.T) {
	t.Parallel()
	term := openTerminal(t)
	term.line(insideShell, inner)
	if strings.Contains(term.screen.String(), "no job control") {
		term.fatal("the shell inside has no job control")
	}
	term.line(sleeper, "ready")
	term.key(ctrlC, inner)
	term.line(sleeper, "ready")
	term.key(ctrlZ, "Stopped", inner)
	term.resume()
	term.key(ctrlC, inner)
	term.resize(33, 77)
	term.line("stty size", "33 77", inner)
	term.line("exit 7", outer)
	term.status(7)
	term.stillWorks()
}

// A script's shell takes no terminal of its own: gosrt must give it back.
func TestTerminalOfAScript(t *testing.T) {
	t.Parallel()
	term := openTerminal(t)
	term.line(`sh -c '`+insideShell+`; echo "ba"ck; read x; echo "go"t=$x.'`, inner)
	term.line("exit", "back")
	term.line("word", "got=word.", outer)
	term.stillWorks()
}

func TestTerminalSuspendInside(t *testing.T) {
	t.Parallel()
	term := openTerminal(t)
	term.line(insideShell, inner)
	term.line("suspend -f", "Stopped", outer)
	term.stillWorks()
	term.resume()
	term.line(`echo "ins"ide`, "inside", inner)
	term.line("exit 5", outer)
	term.status(5)
	term.stillWorks()
}

// A program that handles Ctrl-C has decided; one that ignores it is ended by the
// second.
func TestTerminalSecondInterrupt(t *testing.T) {
	t.Parallel()
	t.Run("handled", func(t *testing.T) {
		term := openTerminal(t)
		term.line(`gosrt -- sh -c 'trap "echo in\"\"t." INT; echo "rea"dy; while :; do sleep 0.05; done'`, "ready")
		for range 4 {
			term.key(ctrlC, "int.")
		}
		term.key(ctrlQuit, outer)
		term.status(128 + int(unix.SIGQUIT))
	})
	t.Run("ignored", func(t *testing.T) {
		term := openTerminal(t)
		term.line(`gosrt -- sh -c 'trap "" INT; trap "echo te\"\"rm.; exit 3" TERM; echo "rea"dy; while :; do sleep 0.05; done'`, "ready")
		said := false
		for end := time.Now().Add(time.Minute); !said && time.Now().Before(end); {
			term.press(ctrlC) // two that are pending at once are one
			said = term.appears("term.", 200*time.Millisecond)
		}
		term.expect(outer)
		term.status(3)
	})
}

// Sent to gosrt alone, the second INT is meant for a command that goes on.
func TestSecondInterruptEscalates(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, onTerm string
		last         string // what the command says at its end
		status       int
	}{
		{"to TERM", "echo term; exit 3", "term", 3},
		{"to KILL after the grace", "echo term", "term", 128 + int(unix.SIGKILL)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			notIgnored(t, unix.SIGINT)
			cmd := gosrtCmd(t, "--", "sh", "-c", `trap "echo int" INT; trap "`+row.onTerm+`" TERM; echo ready; while :; do sleep 0.05; done`)
			out := startUntil(t, cmd, "ready")
			cmd.Process.Signal(unix.SIGINT)
			if line, err := out.ReadString('\n'); line != "int\n" {
				t.Fatalf("the first INT: %q, %v", line, err)
			}
			cmd.Process.Signal(unix.SIGINT)
			said := ""
			for line, err := out.ReadString('\n'); err == nil; line, err = out.ReadString('\n') {
				said += line
			}
			if status := statusOf(cmd.Wait()); status != row.status || !strings.Contains(said, row.last) {
				t.Errorf("status %d after %q, want %d after %q", status, said, row.status, row.last)
			}
		})
	}
}

func TestIgnoredHangupStaysIgnored(t *testing.T) {
	t.Parallel()
	const script = `kill -HUP $$; echo alive`
	_, err := exec.LookPath("nohup")
	need(t, err == nil, "nohup")
	notIgnored(t, unix.SIGHUP)
	cmd := gosrtCmd(t, "--", "sh", "-c", script)
	if status := statusOf(cmd.Run()); status != 128+int(unix.SIGHUP) {
		t.Errorf("without nohup: status %d, want %d", status, 128+int(unix.SIGHUP))
	}
	kept := exec.Command("nohup", "gosrt", "--", "sh", "-c", script)
	kept.Dir, kept.Env = cmd.Dir, cmd.Env
	if out, err := kept.Output(); err != nil || string(out) != "alive\n" {
		t.Errorf("with nohup: %q, %v", out, err)
	}
	waits := exec.Command("nohup", "gosrt", "--", "sh", "-c", "echo ready; read x; echo alive $x")
	waits.Dir, waits.Env = cmd.Dir, cmd.Env
	in, err := waits.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := startUntil(t, waits, "ready")
	waits.Process.Signal(unix.SIGHUP)
	fmt.Fprintln(in, "still")
	if line, err := out.ReadString('\n'); line != "alive still\n" {
		t.Errorf("HUP to gosrt: %q, %v", line, err)
	}
	if status := statusOf(waits.Wait()); status != 0 {
		t.Errorf("HUP to gosrt: status %d", status)
	}
}
