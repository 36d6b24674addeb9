//go:build mac && darwin

package darwin

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gosrt/gosrt/policy"
)

// The Mac lane, "go test -tags mac": the rows that the evaluator rests on, on
// the kernel, each of which can be falsified alone; then the compiler on every
// golden profile; then a whole run.

// probeBinary builds testdata/probe once for a test.
func probeBinary(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "probe")
	cmd := exec.Command("go", "build", "-o", out, "./testdata/probe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the probe: %v\n%s", err, said)
	}
	return out
}

// freshDir is short, canonical and beneath /private/tmp, as the rows say.
func freshDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/private/tmp", "gosrt-mac-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(dir) })
	return dir
}

// loopback is a port with a listener on both loopback addresses, and a free one.
func loopback(t *testing.T) (busy, free string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, busy, _ = net.SplitHostPort(l.Addr().String())
	six, err := net.Listen("tcp", "[::1]:"+busy)
	if err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, free, _ = net.SplitHostPort(other.Addr().String())
	other.Close()
	for _, l := range []net.Listener{l, six} {
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Close()
			}
		}()
	}
	return busy, free
}

func TestAssumptionsOnAMac(t *testing.T) {
	probe := probeBinary(t)
	busy, free := loopback(t)
	for _, a := range assumptions(t) {
		t.Run(a.id, func(t *testing.T) {
			dir := freshDir(t)
			if a.before != "" {
				said, err := exec.Command(probe, fill(a.before, dir, busy, free)).CombinedOutput()
				if got := strings.TrimSpace(string(said)); err != nil || got != "ok" {
					t.Fatalf("before: %s: %v", got, err)
				}
			}
			file := filepath.Join(t.TempDir(), "row.sb")
			if err := os.WriteFile(file, []byte(assumptionBase+fill(a.rules, dir, busy, free)), 0o600); err != nil {
				t.Fatal(err)
			}
			args := launchArgs(file, []string{probe, fill(a.steps, dir, busy, free)})
			said, err := exec.Command(args[0], args[1:]...).CombinedOutput()
			if got := strings.TrimSpace(string(said)); got != a.expect {
				t.Errorf("FALSIFIED (%s, %s): %s\n%s answered %q (%v), want %s", a.certainty, a.source, a.claim, a.steps, got, err, a.expect)
			}
		})
	}
}

func TestGoldensCompileOnAMac(t *testing.T) {
	files, _ := filepath.Glob("testdata/profiles/*.sb")
	for _, file := range files {
		said, err := exec.Command(sandboxExec, "-f", file, "/usr/bin/true").CombinedOutput()
		if bytes.Contains(said, []byte("execvp")) {
			continue // compiled and applied, and it hides the program
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", file, err, said)
		}
	}
}

// TestRunOnAMac: control first, then the same command with one thing denied, and
// the denial with the entry it is owed to.
func TestRunOnAMac(t *testing.T) {
	dir := freshDir(t)
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("hidden\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		lines []string
		code  int
		want  string
	}{
		{"control", []string{"allowWrite " + dir}, 0, "hidden\n"},
		{"hidden", []string{"allowWrite " + dir, "denyRead " + secret}, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan := planOf(tt.lines...)
			plan.Argv, plan.Dir, plan.Env = []string{"/bin/cat", secret}, dir, []string{"PATH=/usr/bin:/bin"}
			out, status, seen := runOnAMac(t, plan)
			if out != tt.want || status.Code != tt.code || !status.Ran {
				t.Errorf("output %q, status %+v", out, status)
			}
			if tt.code != 0 && !strings.Contains(fmt.Sprint(seen), "denyRead "+secret) {
				t.Errorf("violations %v do not name the entry", seen)
			}
		})
	}
}

func runOnAMac(t *testing.T, plan *policy.Plan) (string, Status, []policy.Violation) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var seen []policy.Violation
	p, err := Start(Config{Plan: plan, FS: hostFS{}, Stdin: null, Stdout: w, Stderr: null,
		OnViolation: func(v policy.Violation) { seen = append(seen, v) }})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(r)
	return string(out), p.Wait(), seen
}

// hostFS shows the real disk; the plans here are written canonical.
type hostFS struct{}

func (hostFS) Lstat(p string) (policy.FileInfo, error) {
	fi, err := os.Lstat(p)
	if err != nil {
		return policy.FileInfo{}, err
	}
	return policy.FileInfo{Mode: fi.Mode(), Size: fi.Size()}, nil
}

func (hostFS) Readlink(p string) (string, error) { return os.Readlink(p) }
func (hostFS) ReadFile(p string) ([]byte, error) { return os.ReadFile(p) }
func (hostFS) ReadDir(p string) ([]policy.DirEntry, error) {
	entries, err := os.ReadDir(p)
	var out []policy.DirEntry
	for _, e := range entries {
		out = append(out, policy.DirEntry{Name: e.Name(), Type: e.Type()})
	}
	return out, err
}
