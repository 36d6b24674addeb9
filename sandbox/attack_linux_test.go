package sandbox

import (
	"bytes"
	"errors"
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
