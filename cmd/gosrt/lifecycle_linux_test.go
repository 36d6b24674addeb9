package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// gosrtCmd is a gosrt process in a project of its own, outside /tmp.
func gosrtCmd(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	work, err := os.MkdirTemp("/var/tmp", "gosrt-life-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	for _, dir := range []string{"home", "proj", "tmp"} {
		if err := os.Mkdir(filepath.Join(work, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("gosrt", args...)
	cmd.Dir = filepath.Join(work, "proj")
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(work, "home"), "TMPDIR="+filepath.Join(work, "tmp"))
	return cmd
}

// startUntil starts cmd and reads its output up to the line that is want.
func startUntil(t *testing.T, cmd *exec.Cmd, want string) *bufio.Reader {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	if strings.TrimSpace(line) != want {
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatalf("first line %q (%v), want %q; stderr:\n%s", line, err, want, stderr.String())
	}
	return r
}

// eventually fails the test when met stays false for limit.
func eventually(t *testing.T, limit time.Duration, what string, met func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !met(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v: %s", limit, what)
		}
	}
}

// marked returns the processes whose command line holds mark.
func marked(mark string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), mark) {
			found = append(found, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

func TestKillLeavesNothing(t *testing.T) {
	mark := fmt.Sprintf("86%d.25", os.Getpid())
	script := `sleep ` + mark + ` & (sleep ` + mark + ` &); setsid sleep ` + mark + ` & nohup sleep ` + mark + ` >/dev/null 2>&1 & echo ready; wait`
	cmd := gosrtCmd(t, "--", "sh", "-c", script)
	startUntil(t, cmd, "ready")
	eventually(t, time.Minute, "fewer than four sleeps run", func() bool { return len(marked("sleep\x00"+mark)) >= 4 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	eventually(t, time.Minute, "processes are left", func() bool { return len(marked(mark)) == 0 })
	for _, dir := range []string{"tmp", "proj"} {
		left, err := os.ReadDir(filepath.Join(cmd.Dir, "..", dir))
		if err != nil || len(left) > 0 {
			t.Errorf("%s holds %v (%v)", dir, left, err)
		}
	}
}

func TestBackgroundProcessesEndWithTheCommand(t *testing.T) {
	mark := fmt.Sprintf("87%d.25", os.Getpid())
	cmd := gosrtCmd(t, "--", "sh", "-c", `setsid sleep `+mark+` >/dev/null 2>&1 & (nohup sleep `+mark+` >/dev/null 2>&1 &); exit 5`)
	err := cmd.Run()
	if status := statusOf(err); status != 5 {
		t.Errorf("status %d, want 5", status)
	}
	if left := marked(mark); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func statusOf(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

// notIgnored lets children start with the signal at its default although these
// tests may run under nohup, which gosrt would rightly pass on.
func notIgnored(t *testing.T, sig os.Signal) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, sig)
	t.Cleanup(func() { signal.Stop(c) })
}

// The command's own handler decides what a signal to gosrt means.
func TestSignalsReachTheCommand(t *testing.T) {
	for _, row := range []struct {
		name string
		sig  syscall.Signal
	}{
		{"INT", syscall.SIGINT}, {"TERM", syscall.SIGTERM}, {"HUP", syscall.SIGHUP},
		{"QUIT", syscall.SIGQUIT}, {"USR1", syscall.SIGUSR1}, {"USR2", syscall.SIGUSR2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			notIgnored(t, row.sig)
			cmd := gosrtCmd(t, "--", "sh", "-c", `trap "exit 7" `+row.name+`; echo ready; while :; do sleep 0.05; done`)
			startUntil(t, cmd, "ready")
			if err := cmd.Process.Signal(row.sig); err != nil {
				t.Fatal(err)
			}
			if status := statusOf(cmd.Wait()); status != 7 {
				t.Errorf("status %d, want the handler's 7", status)
			}
		})
	}
	t.Run("without a handler", func(t *testing.T) {
		cmd := gosrtCmd(t, "--", "sh", "-c", `echo ready; exec sleep 60`)
		startUntil(t, cmd, "ready")
		cmd.Process.Signal(syscall.SIGTERM)
		if status := statusOf(cmd.Wait()); status != 128+int(syscall.SIGTERM) {
			t.Errorf("status %d, want %d", status, 128+int(syscall.SIGTERM))
		}
	})
}

// The proxies listen before the command's first instruction.
func TestFirstConnectIsNeverRefused(t *testing.T) {
	_, err := exec.LookPath("bash")
	need(t, err == nil, "bash")
	rounds := 200
	if testing.Short() || raceDetector {
		rounds = 20
	}
	cmd := gosrtCmd(t)
	for i := range rounds {
		try := exec.Command("gosrt", "--", "bash", "-c", `exec 3<>/dev/tcp/127.0.0.1/3128 4<>/dev/tcp/127.0.0.1/1080`)
		try.Dir, try.Env = cmd.Dir, cmd.Env
		if out, err := try.CombinedOutput(); err != nil {
			t.Fatalf("round %d: %v\n%s", i, err, out)
		}
	}
}

// tunnelClient opens argv[2] tunnels to a.test:argv[1] one after the other,
// closes its half of each and expects the reply that only comes after that.
const tunnelClient = `
import socket, sys
port, rounds = sys.argv[1], int(sys.argv[2])
def tunnel(i):
    s = socket.create_connection(("127.0.0.1", 3128))
    s.sendall(f"CONNECT a.test:{port} HTTP/1.1\r\nHost: a.test:{port}\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        more = s.recv(4096)
        assert more, head
        head += more
    assert b" 200 " in head.split(b"\r\n")[0], head
    s.sendall(b"ping %d" % i)
    s.shutdown(socket.SHUT_WR)
    reply = b""
    while True:
        more = s.recv(4096)
        if not more:
            break
        reply += more
    assert reply == b"pong ping %d" % i, reply
    s.close()
tunnel(0)
print("ready", flush=True)
sys.stdin.readline()
for i in range(rounds):
    tunnel(i)
print("done", flush=True)
sys.stdin.readline()
`

func TestHalfClosedTunnelsLeaveNoDescriptor(t *testing.T) {
	_, err := exec.LookPath("python3")
	need(t, err == nil, "python3")
	port := startHalfCloser(t)
	cmd := gosrtCmd(t, "--allow-domain", "a.test", "--resolve", "a.test=127.0.0.1", "--",
		"python3", "-c", tunnelClient, port, "1000")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := startUntil(t, cmd, "ready")
	before := sockets(t, cmd.Process.Pid)
	io.WriteString(in, "\n")
	if line, _ := out.ReadString('\n'); line != "done\n" {
		cmd.Wait()
		t.Fatalf("client said %q: %v", line, cmd.Stderr)
	}
	after := 0
	eventually(t, time.Minute, "sockets are left", func() bool {
		after = sockets(t, cmd.Process.Pid)
		return after <= before
	})
	io.WriteString(in, "\n")
	if status := statusOf(cmd.Wait()); status != 0 {
		t.Errorf("status %d", status)
	}
}

// sockets counts a process's sockets. Its pipes say nothing: Go keeps those that
// it spliced through for the next time, until the garbage collector runs.
func sockets(t *testing.T, pid int) int {
	t.Helper()
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, fd := range list {
		if target, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil && strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}

// startHalfCloser is a server that answers "pong" and what it read, after the
// client has closed its half.
func startHalfCloser(t *testing.T) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				text, _ := io.ReadAll(c)
				fmt.Fprintf(c, "pong %s", text)
			}()
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}
