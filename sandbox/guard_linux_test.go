package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/policy"
)

// TestGuardUser runs the guard's tests again as an ordinary user.
func TestGuardUser(t *testing.T) {
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
	cmd := exec.Command(self, "-test.run=^TestGuard", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HOME="+dir+"/tmp", "TMPDIR="+dir+"/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestGuardRefusesByName")) {
		t.Fatalf("%v\n%s", err, out)
	}
}

// guarded is one run that keeps what the guard told.
type guarded struct {
	*Cmd
	mu         sync.Mutex
	violations []policy.Violation
}

func (h home) guarded(ctx context.Context, argv ...string) *guarded {
	g := &guarded{Cmd: h.command(ctx, argv[0], argv[1:]...)}
	g.Policy.Filesystem.Tmp = policy.TmpHost // go test keeps its binary and directories there
	g.OnViolation = func(v policy.Violation) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.violations = append(g.violations, v)
	}
	return g
}

// told returns the targets of violations of a kind, beneath the checkout
// relative to it, none twice.
func (g *guarded) told(kind string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var targets []string
	for _, v := range g.violations {
		if v.Kind == kind {
			targets = append(targets, strings.TrimPrefix(v.Target, g.Dir+"/"))
		}
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}

// shell runs a line in the checkout.
func (h home) shell(t *testing.T, line string) (*guarded, string, error) {
	t.Helper()
	g := h.guarded(t.Context(), "sh", "-c", line)
	out, err := g.CombinedOutput()
	return g, string(out), err
}

// names lists what is below a directory, but for git's own directories.
func names(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		list = append(list, rel+" "+d.Type().String())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func mustWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		t.Fatal(err)
	}
}

// Each line is an attempt to bring about a protected name that is not there. The
// control is the same line with a free name in its place.
func TestGuardRefusesByName(t *testing.T) {
	h := newHome(t)
	for _, tt := range []struct{ name, line, free string }{
		{"create", "echo x > .bashrc", "ok1"},
		{"append", "echo x >> .mcp.json", "ok2"},
		{"directory", "mkdir .vscode", "ok3"},
		{"rename a file", "echo x > t4; mv t4 .zshrc", "ok4"},
		{"rename a directory", "mkdir t5; mv t5 .idea", "ok5"},
		{"hard link", "echo x > t6; ln t6 .envrc", "ok6"},
		{"symbolic link", "ln -s /etc/passwd .gosrt.toml", "ok7"},
		{"dangling link", "ln -s .profile t8; echo x > t8", ""},
		{"absolute", "echo x > $PWD/.vimrc", "ok9"},
		{"through ..", "mkdir t10; cd t10; echo x > ../.vimrc", "ok10"},
		{"linked directory", "ln -s . t11; echo x > t11/.exrc", "ok11"},
		{"working directory of procfs", "echo x > /proc/self/cwd/.exrc", "ok12"},
		{"root of procfs", "echo x > /proc/self/root/$PWD/.exrc", "ok13"},
		{"link to procfs", "ln -s /proc/self/cwd t14; echo x > t14/.exrc", "ok14"},
		{"descriptor of the directory", "exec 9<.; echo x > /proc/self/fd/9/.exrc", "ok15"},
		{"slashes", "mkdir -p .///.fleet//", "ok16"},
		{"beneath an absent ancestor", "mkdir -p .claude/commands", "ok17"},
		{"FIFO", "mkfifo .exrc", "ok18"},
	} {
		line := func(protected string) string { return strings.ReplaceAll(tt.line, protected, tt.free) }
		g, out, err := h.shell(t, tt.line)
		if err == nil || !strings.Contains(out, "Permission denied") {
			t.Errorf("%s: %v, %q", tt.name, err, out)
		}
		told := g.told("write")
		if len(told) != 1 {
			t.Errorf("%s: reported %q", tt.name, told)
			continue
		}
		if _, err := os.Lstat(filepath.Join(h.work, told[0])); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %q is there: %v", tt.name, told[0], err)
		}
		if tt.free == "" {
			continue
		}
		if _, out, err := h.shell(t, strings.ReplaceAll("rm -rf t4 t5 t6 t8 t10 t11 t14; "+line(told[0]), "mkdir .///.fleet//", "mkdir ok")); err != nil {
			t.Errorf("%s: control: %v, %q", tt.name, err, out)
		}
	}
}

func TestGuardReportsTheRule(t *testing.T) {
	h := newHome(t)
	g, _, _ := h.shell(t, "mkdir .vscode; touch /etc/gosrt-test; true")
	want := []policy.Violation{
		{Kind: "write", Operation: "mkdir", Target: h.work + "/.vscode", Program: "mkdir", Rule: "protect " + h.work + "/.vscode",
			Origin: "built-in", Reason: "an editor on the host runs tasks named in it", Hint: "--allow-write " + h.work + "/.vscode", Count: 1},
		{Kind: "write", Operation: "openat", Target: "/etc/gosrt-test", Program: "touch", Reason: "no allowWrite entry covers it",
			Hint: "--allow-write /etc/gosrt-test", Count: 1, Inferred: true},
	}
	for i := range g.violations {
		g.violations[i].PID, g.violations[i].Time = 0, time.Time{}
	}
	if diff := cmp.Diff(want, g.violations); diff != "" {
		t.Error(diff)
	}
}

// What exists is not refused where the kernel has another answer, and what no
// rule names is never in the way.
func TestGuardLetsTheRestBe(t *testing.T) {
	h := newHome(t)
	g, out, err := h.shell(t, "set -e; mkdir a; mv a b; rmdir b; mkdir -p /usr/bin "+h.work+"; mkdir .claude; rmdir .claude; "+
		"ln -s nowhere l; rm l; echo x > f; mv f g; ln g h; rm g h; : > /dev/null; mkdir -p node_modules/p/.vscode; rm -r node_modules")
	if err != nil || len(g.violations) != 0 {
		t.Errorf("%v, %q, reported %+v", err, out, g.violations)
	}
}

// A repository built under another name brings its hooks nowhere.
func TestGuardMovedRepository(t *testing.T) {
	h := newHome(t)
	build := "mkdir -p x/hooks x/objects x/refs; echo ref: refs/heads/main > x/HEAD; echo evil > x/hooks/pre-commit; "
	for _, line := range []string{
		build + "mv x .git",
		build + "mkdir y; mv x y/.git",
		build + "mv x bare.git",
		build + "mkdir .git; mv x/hooks .git/hooks",
		build + "mkdir .git .git/hooks; mv x/hooks/pre-commit .git/hooks/",
		build + "mkdir .git .git/hooks; ln x/hooks/pre-commit .git/hooks/pre-commit",
		build + "ln -s x .git; test -e .git",
		build + "mkdir .git; ln -s ../x/hooks .git/hooks; test -e .git/hooks/pre-commit",
		build + "chmod 000 x/hooks; mv x .git",
		"mkdir -p c/commands; mv c .claude",
		"mkdir -p c/commands; ln -s c .claude",
	} {
		_, out, err := h.shell(t, line)
		if err == nil || !strings.Contains(out, "Permission denied") && !strings.Contains(out, "cannot overwrite directory") {
			t.Errorf("%s: %v, %q", line, err, out)
		}
		for _, hook := range []string{".git/hooks/pre-commit", "y/.git/hooks/pre-commit", "bare.git/hooks/pre-commit", ".claude/commands"} {
			if _, err := os.Stat(filepath.Join(h.work, hook)); err == nil {
				t.Errorf("%s: %s is there", line, hook)
			}
		}
		exec.Command("chmod", "-R", "u+rwx", h.work).Run()
		exec.Command("sh", "-c", "cd "+h.work+" && rm -rf x y c .git bare.git .claude").Run()
	}
}

// A deep repository, which the look at the start does not reach, is held by name.
func TestGuardDeepRepository(t *testing.T) {
	h := newHome(t)
	deep := "a/b/c/d/e"
	if out, err := exec.Command("git", "init", "-q", filepath.Join(h.work, deep)).CombinedOutput(); err != nil {
		t.Skipf("git: %v %s", err, out)
	}
	for _, line := range []string{
		"echo x >> DEEP/.git/config", "echo x > DEEP/.git/hooks/pre-commit", "mv DEEP/.git DEEP/g", "rm DEEP/.git/config",
		"echo x > t; mv t DEEP/.git/config", "echo '*.c filter=x' > DEEP/.git/info/attributes", "echo .. > DEEP/.git/commondir",
	} {
		line = strings.ReplaceAll(line, "DEEP", deep)
		if _, out, err := h.shell(t, line); err == nil || !strings.Contains(out, "Permission denied") {
			t.Errorf("%s: %v, %q", line, err, out)
		}
	}
	if _, out, err := h.shell(t, "echo x > "+deep+"/f; cd "+deep+" && git add f"); err != nil {
		t.Errorf("control: %v %q", err, out)
	}
}

const gitEnv = "export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; set -e; "

func TestGuardGitWorks(t *testing.T) {
	h := newHome(t)
	prepare := exec.Command("sh", "-c", gitEnv+`mkdir ../sub; (cd ../sub; git init -q -b main; echo s > s; git add s; git commit -qm s)
		git init -q -b main; echo 1 > f; git add f; git commit -qm 1
		git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub; git branch feat; git worktree add -q ../linked`)
	prepare.Dir, prepare.Env = h.work, h.env()
	if out, err := prepare.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for _, line := range []string{
		"echo 2 >> f; git add f; git commit -qm 2; git switch -q feat; echo 3 > g; git add g; git commit -qm 3; git rebase -q main",
		"echo 4 >> f; git stash -q; git stash pop -q; git checkout -q f",
		"git worktree add -q wt; (cd wt; echo 5 > h; git add h; git commit -qm 5); git worktree remove wt",
		"git init -q new; cd new; git config user.x y; echo 1 > f; git add f; git commit -qm 1",
		"git clone -q . cl; cd cl; git fetch -q; git pull -q; git switch -q -c y origin/main; git gc -q",
		"git clone -q --bare . bare.git; rm -rf bare.git",
		"git -c protocol.file.allow=always submodule update",
		"git -c protocol.file.allow=always clone -q --recurse-submodules . cl2; rm -rf cl2",
		"git init -q n1; mv n1 n2; git -C n2 config a.b c; mv n2/.git n2/g; mv n2/g n2/.git; rm -rf n2",
	} {
		if _, out, err := h.shell(t, gitEnv+line); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	linked := home{h.dir, filepath.Join(h.dir, "linked")}
	if _, out, err := linked.shell(t, gitEnv+"echo 6 > i; git add i; git commit -qm 6; git fetch -q ."); err != nil {
		t.Errorf("in a linked worktree: %v\n%s", err, out)
	}
	for _, line := range []string{"git config core.fsmonitor x", "git init -q n; echo x > n/.git/hooks/post-checkout", "echo x > .git/hooks/pre-push"} {
		if _, out, err := h.shell(t, line); err == nil || !strings.Contains(out, "Permission denied") {
			t.Errorf("%s: %v, %q", line, err, out)
		}
	}
}

// A new repository whose configuration runs programs is named after the run.
func TestGuardNamesBornConfiguration(t *testing.T) {
	h := newHome(t)
	g, out, err := h.shell(t, "git init -q a && git init -q b && git -C b config core.fsmonitor ./evil")
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	want := []string{fmt.Sprintf("%q: git on the host would obey core.fsmonitor in the repository that the command made", h.work+"/b/.git/config")}
	if diff := cmp.Diff(want, g.Result().Remarks); diff != "" {
		t.Error(diff)
	}
}

// A .git file that leads to an unguarded directory does not stay.
func TestGuardPutsAwayPointer(t *testing.T) {
	h := newHome(t)
	g, out, err := h.shell(t, "mkdir -p evil/hooks evil/objects evil/refs; echo ref: refs/heads/x > evil/HEAD; echo x > evil/hooks/pre-commit; echo 'gitdir: evil' > .git")
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if _, err := os.Lstat(h.work + "/.git"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf(".git is there: %v", err)
	}
	if told := g.told("quarantine"); !slices.Equal(told, []string{".git"}) {
		t.Errorf("told %q", told)
	}
}

// TestGuardHelper is not a test: it is the program that runs inside.
func TestGuardHelper(t *testing.T) {
	switch os.Getenv("GUARD_HELPER") {
	case "race":
		race()
	case "sockets":
		trySockets(strings.Split(os.Getenv("GUARD_SOCKETS"), ":"))
	}
}

// helper runs this test binary inside as one of the programs above.
func (h home) helper(ctx context.Context, t *testing.T, what string, env ...string) *guarded {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := append([]string{"env", "GUARD_HELPER=" + what}, env...)
	return h.guarded(ctx, append(argv, self, "-test.run=^TestGuardHelper$", "-test.v=false")...)
}

// race makes directories whose name another thread rewrites all the while between
// a free one and a protected one.
func race() {
	name := func(s string) (n uint64) {
		copy((*[8]byte)(unsafe.Pointer(&n))[:], s)
		return n
	}
	free, protected := name("zz-free"), name(".vscode")
	var buf atomic.Uint64
	var stop atomic.Bool
	go func() {
		for !stop.Load() {
			buf.Store(free)
			for range 2000 {
				_ = stop.Load()
			}
			buf.Store(protected)
			for range 300 {
				_ = stop.Load()
			}
		}
	}()
	var made, refused int
	for range raceCalls() {
		cwd := unix.AT_FDCWD
		switch _, _, errno := unix.Syscall(unix.SYS_MKDIRAT, uintptr(cwd), uintptr(unsafe.Pointer(&buf)), 0o755); errno {
		case 0:
			made++
		case unix.EACCES:
			refused++
		}
		unix.Rmdir("zz-free")
	}
	stop.Store(true)
	fmt.Printf("made %d refused %d\n", made, refused)
}

// raceCalls keeps the second run of the suite, as an ordinary user, short.
func raceCalls() int {
	if os.Getuid() == 0 {
		return 10000
	}
	return 1000
}

func TestGuardRace(t *testing.T) {
	h := newHome(t)
	g := h.helper(t.Context(), t, "race")
	out, err := g.CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	var made, refused int
	if n, _ := fmt.Sscanf(string(out), "made %d refused %d", &made, &refused); n != 2 || made == 0 || refused == 0 {
		t.Fatalf("no race took place: %q", out)
	}
	if list := names(t, h.work); !slices.Equal(list, []string{". d---------"}) {
		t.Errorf("left behind: %q", list)
	}
	t.Logf("%s, put away: %q", bytes.TrimSpace(out), g.told("quarantine"))
}

// What a program on the host makes meanwhile is the user's.
func TestGuardLeavesTheHostsFiles(t *testing.T) {
	h := newHome(t)
	g := h.guarded(t.Context(), "sh", "-c", "echo; read end")
	stdin, end := io.Pipe()
	begun, stdout := io.Pipe()
	g.Stdin, g.Stdout = stdin, stdout
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := begun.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, h.work+"/.vscode/tasks.json", "mine")
	mustWrite(t, h.work+"/.claude/commands/x", "mine")
	fmt.Fprintln(end, "end")
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/.vscode/tasks.json", "/.claude/commands/x"} {
		if text, err := os.ReadFile(h.work + path); string(text) != "mine" {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	if told := g.told("quarantine"); len(told) != 0 || len(g.Result().Remarks) != 2 {
		t.Errorf("put away %q, remarks %q", told, g.Result().Remarks)
	}
}

// Two runs in one directory do not disarm each other, and neither leaves anything.
func TestGuardTwoRunsLeaveNothing(t *testing.T) {
	h := newHome(t)
	mustWrite(t, h.work+"/README", "x")
	before := names(t, h.dir)
	long := h.guarded(t.Context(), "sh", "-c", "sleep 1; mkdir .vscode")
	if err := long.Start(); err != nil {
		t.Fatal(err)
	}
	if err := h.guarded(t.Context(), "true").Run(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, names(t, h.dir)); diff != "" {
		t.Errorf("during the run:\n%s", diff)
	}
	var exit *ExitError
	if err := long.Wait(); !errors.As(err, &exit) || !slices.Equal(long.told("write"), []string{".vscode"}) {
		t.Errorf("the longer run: %v, told %q", err, long.told("write"))
	}
	if diff := cmp.Diff(before, names(t, h.dir)); diff != "" {
		t.Errorf("after the runs:\n%s", diff)
	}
}

// Killed in the middle, a run leaves nothing of its own either.
func TestGuardKilledLeavesNothing(t *testing.T) {
	h := newHome(t)
	before := names(t, h.dir)
	g := h.guarded(t.Context(), "sh", "-c", "while :; do mkdir .vscode 2>/dev/null; done")
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	g.run.kill()
	g.Wait()
	if diff := cmp.Diff(before, names(t, h.dir)); diff != "" {
		t.Error(diff)
	}
	if told := g.told("write"); !slices.Equal(told, []string{".vscode"}) {
		t.Errorf("control: told %q", told)
	}
}

// trySockets says of each socket what came of connecting to it, and then whether
// a server inside can be reached.
func trySockets(paths []string) {
	connect := func(network, path string) string {
		c, err := net.Dial(network, path)
		var errno syscall.Errno
		switch {
		case errors.As(err, &errno):
			return unix.ErrnoName(errno)
		case err != nil:
			return err.Error()
		}
		defer c.Close()
		buf := make([]byte, 8)
		n, _ := c.Read(buf)
		return string(buf[:n])
	}
	for _, path := range paths {
		fmt.Println(path, connect("unix", path))
	}
	for _, network := range []string{"unix", "unixpacket"} {
		for _, path := range []string{"inside.sock", "@inside"} {
			l, err := net.Listen(network, path)
			if err != nil {
				fmt.Println(network, path, err)
				continue
			}
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					c.Write([]byte("inside"))
					c.Close()
				}
			}()
			fmt.Println(network, path, connect(network, path))
			l.Close()
			if path[0] != '@' {
				fmt.Println(network, path, "gone:", connect(network, path))
			}
		}
	}
	_, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	fmt.Println("datagram", unix.ErrnoName(err.(syscall.Errno)))
	_, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	fmt.Println("pair", err)
}

// serveHost answers "host" on sockets outside.
func serveHost(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		l, err := net.Listen("unix", path)
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
				c.Write([]byte("host"))
				c.Close()
			}
		}()
	}
}

func TestGuardUnixSockets(t *testing.T) {
	h := newHome(t)
	outside, err := os.MkdirTemp("/var/tmp", "gosrt-sock-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(outside) })
	abstract := "@gosrt-test-" + filepath.Base(outside)
	serveHost(t, h.work+"/docker.sock", h.dir+"/home.sock", outside+"/closed.sock", outside+"/open.sock", outside+"/linked.sock", abstract)
	if err := errors.Join(os.Symlink(outside+"/closed.sock", h.work+"/link"), os.Symlink(outside+"/linked.sock", outside+"/name")); err != nil {
		t.Fatal(err)
	}
	paths := []string{"docker.sock", h.work + "/docker.sock", h.dir + "/home.sock", outside + "/closed.sock", "link",
		"/proc/self/root" + outside + "/closed.sock", abstract, outside + "/open.sock", outside + "/linked.sock", outside + "/none"}
	g := h.helper(t.Context(), t, "sockets", "GUARD_SOCKETS="+strings.Join(paths, ":"))
	rule := func(path string) policy.PathRule { return policy.PathRule{Text: path, Path: path} }
	g.Policy.Network.UnixSockets = []policy.PathRule{rule(outside + "/open.sock"), rule(outside + "/name"), rule(h.work + "/docker.sock"), rule(h.work + "/link")}
	out, err := g.CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	want := []string{
		"docker.sock EACCES", // a rule names it, but the command could re-point the name
		h.work + "/docker.sock EACCES",
		h.dir + "/home.sock EACCES",
		outside + "/closed.sock EACCES",
		"link EACCES", // a rule names it, but a link in a write root is the command's word
		"/proc/self/root" + outside + "/closed.sock EACCES",
		abstract + " ECONNREFUSED", // another network namespace
		outside + "/open.sock host",
		outside + "/linked.sock host",
		outside + "/none ENOENT",
		"unix inside.sock inside", "unix inside.sock gone: ENOENT", "unix @inside inside",
		"unixpacket inside.sock inside", "unixpacket inside.sock gone: ENOENT", "unixpacket @inside inside",
		"datagram EPROTONOSUPPORT", "pair <nil>",
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(strings.TrimSuffix(string(out), "PASS\n"), "\n"), "\n")); diff != "" {
		t.Error(diff)
	}
	denied := []string{outside + "/closed.sock", h.dir + "/home.sock", "docker.sock"}
	slices.Sort(denied)
	if diff := cmp.Diff(denied, g.told("socket")); diff != "" {
		t.Errorf("reported:\n%s", diff)
	}
}
