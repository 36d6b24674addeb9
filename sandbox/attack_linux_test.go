package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// What a command that wants to get out tries. Each test here was a hole once.

// TestAttackUser runs these tests again as an ordinary user.
func TestAttackUser(t *testing.T) {
	if os.Getuid() != 0 {
		return // the tests themselves are that run
	}
	dir, err := os.MkdirTemp("", "gosrt-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self := filepath.Join(dir, "sandbox.test")
	if err := errors.Join(os.Chmod(dir, 0o755), copyFile("/proc/self/exe", self), os.Mkdir(dir+"/tmp", 0), os.Chmod(dir+"/tmp", 0o777)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestAttack", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HOME="+dir+"/tmp", "TMPDIR="+dir+"/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestAttackSetuid")) {
		t.Fatalf("%v\n%s", err, out)
	}
}

// groupRun says to a process of this test that it is the one in danger.
const groupRun = "GOSRT_ATTACK_GROUP"

// kill(0) reaches the caller's whole process group, past the pid namespace: the
// supervisor here, and the shell or the build that started it elsewhere.
func TestAttackSignalsGroup(t *testing.T) {
	const line = "kill -USR1 0; kill -KILL 0; echo refused"
	if os.Getenv(groupRun) != "" {
		out, _ := newHome(t).sh(t, line)
		t.Logf("inside: %q", out)
		return
	}
	control := exec.Command("sh", "-c", `sh -c "`+line+`"; echo alive`)
	control.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if out, err := control.CombinedOutput(); err == nil || strings.Contains(string(out), "alive") {
		t.Fatalf("control: without a sandbox the group lives on: %v: %s", err, out)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestAttackSignalsGroup$", "-test.v")
	cmd.Env = append(os.Environ(), groupRun+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "inside: ") {
		t.Errorf("a signal left the sandbox: %v\n%s", err, out)
	}
}

// A program with the set-user-ID bit that stays in a write root hands the rights
// of whoever ran gosrt to everybody on the machine.
func TestAttackSetuid(t *testing.T) {
	h := newHome(t)
	if out, err := h.sh(t, "cp /bin/true plain && chmod 2755 plain && chmod 755 plain"); err != nil {
		t.Fatalf("control: %v: %s", err, out)
	}
	mustWrite(t, filepath.Join(h.work, "control"), "")
	if err := os.Chmod(filepath.Join(h.work, "control"), 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	out, err := h.sh(t, "rm control; chmod u+s plain; cp plain other; chmod 4755 other; install -m 4755 plain third; ls")
	if err != nil || !strings.Contains(out, "Operation not permitted") {
		t.Errorf("%v: %s", err, out)
	}
	left, err := os.ReadDir(h.work)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if info, err := f.Info(); err == nil && info.Mode()&os.ModeSetuid != 0 {
			t.Errorf("%s: %v", f.Name(), info.Mode())
		}
	}
}

// The nice value and the I/O priority of a group reach as far as its signals.
func TestAttackRenicesGroup(t *testing.T) {
	before, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t)
	if out, err := h.sh(t, `nice -n 1 true && python3 -c 'import os; os.setpriority(os.PRIO_PROCESS, 0, 5)'`); err != nil {
		t.Fatalf("control: %v: %s", err, out)
	}
	out, err := h.sh(t, `python3 -c 'import os; os.setpriority(os.PRIO_PGRP, 0, 5)'`)
	if err == nil || !strings.Contains(out, "PermissionError") {
		t.Errorf("%v: %s", err, out)
	}
	if after, _ := unix.Getpriority(unix.PRIO_PROCESS, 0); after != before {
		t.Errorf("the supervisor's priority went from %d to %d", before, after)
	}
}

// The caches of other projects become write roots of other runs: a command whose
// write root holds them all could plant a link there.
func TestAttackCacheOfAnotherProject(t *testing.T) {
	h := newHome(t)
	root := filepath.Join(h.work, ".cache", "gosrt")
	mine, other := filepath.Join(root, "projects/mine/data"), filepath.Join(root, "projects/other")
	if err := errors.Join(os.MkdirAll(mine, 0o700), os.MkdirAll(other+"/data", 0o700)); err != nil {
		t.Fatal(err)
	}
	run := func(line string) (string, error) {
		c := h.command(t.Context(), "sh", "-c", line)
		c.Env, c.Cache = append(h.env(), "XDG_CACHE_HOME="+h.work+"/.cache"), mine
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := run("echo x > " + mine + "/x && echo x > .cache/x"); err != nil {
		t.Fatalf("control: %v: %s", err, out)
	}
	for _, line := range []string{
		"ln -s /etc " + other + "/link", "ln -s /etc " + root + "/projects/new", "rmdir " + other + "/data",
		"echo x > " + mine + "/../project", "mv " + root + " " + h.work + "/away", "mv .cache away", "mv " + other + " " + root + "/away",
		"mv " + mine + " " + mine + "2",
	} {
		if out, err := run(line); err == nil {
			t.Errorf("%s: succeeded: %s", line, out)
		}
	}
}

// A socket of the caller's that is standard input belongs to the host's network.
func TestAttackSocketAsInput(t *testing.T) {
	h := newHome(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	came := make(chan string, 9)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			said := make([]byte, 9)
			n, _ := c.Read(said)
			came <- string(said[:n])
			c.Close()
		}
	}()
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	try := `import ctypes, os, socket, sys
if ctypes.CDLL(None).connect(0, bytes(16), 16) != 0: sys.exit("no socket that connects")
s = socket.socket(fileno=os.dup(0))
s.connect(("127.0.0.1", ` + port + `))
s.send(b"out")`

	control := exec.Command("python3", "-c", try)
	control.Stdin = unixFile(t, unix.AF_INET, unix.SOCK_STREAM)
	if out, err := control.CombinedOutput(); err != nil {
		t.Fatalf("control: %v: %s", err, out)
	}
	if said := <-came; said != "out" {
		t.Fatalf("control: %q", said)
	}
	for name, socket := range map[string]*os.File{
		"a TCP socket":               unixFile(t, unix.AF_INET, unix.SOCK_STREAM),
		"a UDP socket":               unixFile(t, unix.AF_INET, unix.SOCK_DGRAM),
		"a Unix datagram socket":     unixFile(t, unix.AF_UNIX, unix.SOCK_DGRAM),
		"an unconnected Unix one":    unixFile(t, unix.AF_UNIX, unix.SOCK_STREAM),
		"a socket of routing tables": unixFile(t, unix.AF_NETLINK, unix.SOCK_RAW),
	} {
		if !leadsOut(socket) {
			t.Errorf("%s: it leads out", name)
		}
		c := h.command(t.Context(), "python3", "-c", try)
		c.Stdin = socket
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "no socket") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	select {
	case said := <-came:
		t.Errorf("the host was reached: %q", said)
	default:
	}

	ours, theirs, err := unixPair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	c := h.command(t.Context(), "cat")
	c.Stdin = theirs
	ours.WriteString("through")
	unix.Shutdown(int(ours.Fd()), unix.SHUT_WR)
	if out, err := c.Output(); err != nil || string(out) != "through" || leadsOut(theirs) {
		t.Errorf("a stream that leads to the caller: %q, %v", out, err)
	}
}

func unixFile(t *testing.T, domain, kind int) *os.File {
	t.Helper()
	fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "socket")
	t.Cleanup(func() { f.Close() })
	return f
}

func unixPair() (a, b *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	return os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b"), err
}

// For most files of /proc the kernel asks who owns them, not for a capability,
// and uid 0 inside is the owner.
func TestAttackProcKnobs(t *testing.T) {
	h := newHome(t)
	const find = "find /proc -not -path '/proc/[0-9]*' -not -path '/proc/*self/*' -type f -writable 2>/dev/null; true"
	if os.Getuid() == 0 {
		if out, err := exec.Command("sh", "-c", find).Output(); err != nil || !strings.Contains(string(out), "/proc/sys/") {
			t.Fatalf("control: outside there is much to write: %v", err)
		}
	}
	if out, err := h.sh(t, "echo kept > /proc/self/comm && cat /proc/self/comm"); err != nil {
		t.Errorf("control: a process writes its own files: %v: %s", err, out)
	}
	if out, err := h.sh(t, find); err != nil || strings.TrimSpace(out) != "" {
		t.Errorf("writable inside: %v: %s", err, out)
	}
}

// fullRun says to a process of this test that it is the one to run out of
// descriptors.
const fullRun = "GOSRT_ATTACK_FULL"

// A supervisor without a descriptor left cannot find a name any more, and must
// refuse what it cannot judge. The command can bring it there by connections.
func TestAttackFullSupervisor(t *testing.T) {
	if os.Getenv(fullRun) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestAttackFullSupervisor$")
		cmd.Env = append(os.Environ(), fullRun+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	h := newHome(t)
	c := h.command(t.Context(), "sh", "-c", "mkdir a b c d; mkdir a/../mine; echo go; read line; mkdir d/../.vscode; mkdir b/../.idea; echo end")
	ours, theirs, err := unixPair()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdin, c.Stdout, c.Stderr = theirs, theirs, theirs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 4096)
	if n, err := ours.Read(said); err != nil || string(said[:n]) != "go\n" {
		t.Fatalf("control: %q, %v", said[:n], err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}); err != nil {
		t.Fatal(err)
	}
	var taken []int
	for {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		taken = append(taken, fd)
	}
	ours.WriteString("go\n")
	n, err := ours.Read(said) // before the end, when what got through is put away
	for ; err == nil && !strings.Contains(string(said[:n]), "end\n"); n += more(ours, said[n:]) {
	}
	if got := string(said[:n]); strings.Count(got, "Permission denied") < 2 {
		t.Errorf("a protected name was made: %q", got)
	}
	for _, fd := range taken {
		unix.Close(fd)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

func more(f *os.File, buf []byte) int {
	n, _ := f.Read(buf)
	return n
}
