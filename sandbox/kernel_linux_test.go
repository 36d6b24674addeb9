package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/gosrt/gosrt/policy"
)

// The differential test: random trees, policies and operations. The oracle is
// the pure decision, the subject is the kernel in a real run. The guard is off,
// so this is the proof of the mounts alone; see mountTable for what they hold.

// kernelRun says to a process of this test that it is the one that runs cases.
const kernelRun = "GOSRT_KERNEL_RUN"

// TestKernelAgrees runs cases as the caller, and for root as an ordinary user too.
// It prints rapid's seed when it fails, with the smallest case.
func TestKernelAgrees(t *testing.T) {
	if os.Getuid() != 0 || os.Getenv(kernelRun) != "" {
		agree(t)
		return
	}
	t.Run("root", func(t *testing.T) { // what it mounts is no other test's to see
		runAgain(t, &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS})
	})
	t.Run("user", func(t *testing.T) {
		runAgain(t, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}})
	})
}

// runAgain runs these tests in a process of another kind.
func runAgain(t *testing.T, attr *syscall.SysProcAttr) {
	dir, err := os.MkdirTemp("", "gosrt-kernel-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self := filepath.Join(dir, "sandbox.test")
	if err := errors.Join(os.Chmod(dir, 0o755), copyFile("/proc/self/exe", self), os.Mkdir(dir+"/tmp", 0), os.Chmod(dir+"/tmp", 0o777)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^(TestKernelAgrees|TestManyCovers.*)$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HOME="+dir+"/tmp", "TMPDIR="+dir+"/tmp", kernelRun+"=1")
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestKernelAgrees")) {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func agree(t *testing.T) {
	need(t)
	checks := "40"
	if os.Getenv("GOSRT_TEST_LONG") != "" {
		checks = "2000"
	}
	setFlag(t, "rapid.checks", checks)
	setFlag(t, "rapid.nofailfile", "true")
	setFlag(t, "rapid.shrinktime", "20s")
	ran := map[expectation]int{}
	rapid.Check(t, func(t *rapid.T) {
		for e, n := range runCase(t) {
			ran[e] += n
		}
	})
	t.Logf("%d operations had to succeed, %d to fail, %d could do either", ran[must], ran[mustNot], ran[may])
	if !t.Failed() && (ran[must] == 0 || ran[mustNot] == 0) {
		t.Error("the operations prove nothing")
	}
}

func setFlag(t *testing.T, name, value string) {
	t.Helper()
	old := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { flag.Set(name, old) })
}

// kernelCase is one random tree with a policy and operations on it.
type kernelCase struct {
	base   string // holds w, the random tree, and cwd
	nodes  []treeNode
	mounts []string
	policy policy.Policy
	ops    []fileOp
}

type treeNode struct {
	path, kind, target string
}

// odd names are here to pass through every layer byte for byte.
var kernelNames = []string{"a", "a", "b", "b", "c", "d e", "*", "n\nl", "\xff", ".vscode"}

func genPlace(t *rapid.T, base, label string) string {
	names := rapid.SliceOfN(rapid.SampledFrom(kernelNames), 1, 4).Draw(t, label)
	return base + "/w/" + strings.Join(names, "/")
}

// make builds the tree. What does not fit (a name below a file) is left out.
func (c *kernelCase) make(t *rapid.T) {
	kinds := []string{"dir", "dir", "dir", "file", "file", "file", "symlink", "hardlink", "repo", "blind"}
	if os.Getuid() == 0 {
		kinds = append(kinds, "mount")
	}
	for range rapid.IntRange(4, 16).Draw(t, "nodes") {
		n := treeNode{path: genPlace(t, c.base, "node"), kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		n.target = genPlace(t, c.base, "target")
		if _, err := os.Lstat(n.path); err == nil || os.MkdirAll(path.Dir(n.path), 0o755) != nil {
			continue
		}
		if err := c.makeNode(n); err == nil {
			c.nodes = append(c.nodes, n)
		}
	}
	for _, n := range c.nodes { // last, so that they do not keep others out
		if n.kind == "blind" {
			os.Chmod(n.path, 0)
		}
	}
}

func (c *kernelCase) makeNode(n treeNode) error {
	switch n.kind {
	case "file":
		return os.WriteFile(n.path, []byte(content), 0o644)
	case "symlink":
		return os.Symlink(n.target, n.path)
	case "hardlink":
		return os.Link(n.target, n.path)
	case "repo":
		return errors.Join(os.MkdirAll(n.path+"/.git/hooks", 0o755), os.MkdirAll(n.path+"/.git/objects", 0o755),
			os.MkdirAll(n.path+"/.git/refs", 0o755), os.WriteFile(n.path+"/.git/HEAD", []byte("ref: refs/heads/x\n"), 0o644),
			os.WriteFile(n.path+"/.git/config", []byte(content), 0o644))
	case "mount":
		if err := os.Mkdir(n.path, 0o755); err != nil {
			return err
		}
		c.mounts = append(c.mounts, n.path)
		return unix.Mount("tmpfs", n.path, "tmpfs", 0, "mode=755,size=1m")
	}
	return os.Mkdir(n.path, 0o755)
}

const content = "# content\n"

func (c *kernelCase) remove() {
	for _, m := range slices.Backward(c.mounts) {
		unix.Unmount(m, unix.MNT_DETACH)
	}
	for _, n := range c.nodes {
		if n.kind == "blind" {
			os.Chmod(n.path, 0o755)
		}
	}
	os.RemoveAll(c.base)
}

func (c *kernelCase) genRules(t *rapid.T, label string, patterns bool) []policy.PathRule {
	var rules []policy.PathRule
	for range rapid.IntRange(0, 3).Draw(t, label) {
		p := rapid.SampledFrom([]string{"/", c.base, c.base + "/w", "", "", "", "", "", "", ""}).Draw(t, label)
		if p == "" {
			p = genPlace(t, c.base, label)
		}
		r := policy.PathRule{Text: p, Path: p, Origin: policy.Origin{Layer: policy.LayerSettings, Name: "test"}}
		if patterns && rapid.IntRange(0, 3).Draw(t, "pattern") == 0 {
			r.Path = c.base + rapid.SampledFrom([]string{"/w/**/a", "/w/a/*", "/w/*/b", "/w/**/b/c", "/w/[ab]/**"}).Draw(t, "glob")
			r.Text, r.Pattern = r.Path, true
		}
		rules = append(rules, r)
	}
	return rules
}

func (c *kernelCase) genPolicy(t *rapid.T, executable string) {
	c.policy.Filesystem = policy.Filesystem{
		Tmp:              policy.TmpHost, // the tree is there
		DenyRead:         c.genRules(t, "denyRead", true),
		AllowRead:        c.genRules(t, "allowRead", false),
		AllowWrite:       c.genRules(t, "allowWrite", false),
		DenyWrite:        c.genRules(t, "denyWrite", true),
		WriteImpliesRead: rapid.Bool().Draw(t, "implies"),
	}
	c.policy.Filesystem.DenyWrite = append(c.policy.Filesystem.DenyWrite, policy.PathRule{Text: "/usr", Path: "/usr"}) // bwrap is there
	for _, p := range []string{c.base + "/cwd", executable, "/usr", "/lib", "/lib64", "/bin"} {                        // what the probe needs
		c.policy.Filesystem.AllowRead = append(c.policy.Filesystem.AllowRead, policy.PathRule{Text: p, Path: p})
	}
}

// places lists what operations are tried on: all that is in the tree, and the
// same through its links.
func (c *kernelCase) places() []string {
	var all []string
	filepath.WalkDir(c.base+"/w", func(p string, _ fs.DirEntry, _ error) error {
		all = append(all, p)
		return nil
	})
	for _, n := range c.nodes {
		if n.kind == "symlink" {
			all = append(all, n.path+"/a", n.path+"/b")
		}
	}
	return all
}

var (
	onePlace  = []string{"read", "read", "write", "rdwr", "append", "trunc", "truncate", "chmod", "utimes", "setxattr"}
	newPlace  = []string{"create", "mkdir", "symlink", "mknod", "tmpfile"}
	twoPlaces = []string{"link", "rename", "rename", "exchange"}
)

// genOps tries something of each sort on every place, and removes all at the end,
// deepest first.
func (c *kernelCase) genOps(t *rapid.T) {
	places := c.places()
	vias := []string{"", "", "root", "cwd", "relative", "slashes", "dirfd"}
	var removals []fileOp
	for i, p := range places {
		fresh := func() string { return fmt.Sprintf("new-%d", i) }
		draw := func(kinds []string, p, to string) {
			op := fileOp{Kind: rapid.SampledFrom(kinds).Draw(t, "op"), Path: []byte(p), Via: rapid.SampledFrom(vias).Draw(t, "via"),
				Child: rapid.IntRange(0, 3).Draw(t, "child") == 0}
			switch {
			case op.Kind == "exchange":
				op.To = []byte(rapid.SampledFrom(places).Draw(t, "other"))
			case to != "":
				op.To = []byte(to)
			}
			through := locate(p, false).links != nil || locate(string(op.To), false).links != nil
			if through && (op.Kind == "exchange" || op.Kind == "rename") {
				return // it could move the link itself, and not be undone by the same names
			}
			c.ops = append(c.ops, op)
		}
		draw([]string{"read"}, p, "")
		draw(onePlace, p, "")
		draw(onePlace, p, "")
		draw(newPlace, path.Join(p, fresh()), "")
		draw(twoPlaces, p, path.Join(path.Dir(p), fresh()))
		draw(twoPlaces, p, path.Join(path.Dir(rapid.SampledFrom(places).Draw(t, "to")), fresh()))
		if locate(p, false).links == nil { // else it would go twice
			removals = append(removals, fileOp{Kind: "remove", Path: []byte(p)})
		}
	}
	slices.SortStableFunc(removals, func(a, b fileOp) int { return bytes.Count(b.Path, []byte("/")) - bytes.Count(a.Path, []byte("/")) })
	c.ops = append(c.ops, removals...)
}

// runCase makes one case, runs it and compares.
func runCase(t *rapid.T) map[expectation]int {
	base, err := os.MkdirTemp("", "gosrt-case-")
	if err != nil {
		t.Fatal(err)
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	c := &kernelCase{base: base}
	defer c.remove()
	executable, err := os.Executable()
	if err := errors.Join(err, os.Chmod(base, 0o755), os.Mkdir(base+"/w", 0o755), os.Mkdir(base+"/cwd", 0o755)); err != nil {
		t.Fatal(err)
	}
	c.make(t)
	c.genPolicy(t, executable)
	cmd := Command(t.Context(), c.policy, executable, probeWord)
	cmd.Dir, cmd.Env = base+"/cwd", []string{"HOME=" + base + "/home"}
	host := hostOf(cmd.Env, "")
	host.Support = policy.Support{}
	plan, err := policy.Compile(c.policy, host, policy.Command{Argv: cmd.Args, Dir: cmd.Dir})
	if err != nil {
		t.Skip(err) // a policy that is refused holds nothing
	}
	c.genOps(t)
	return c.compare(t, cmd, plan)
}

// compare runs the operations and puts them beside what the decisions say of
// the tree as it was before.
func (c *kernelCase) compare(t *rapid.T, cmd *Cmd, plan *policy.Plan) map[expectation]int {
	o := newOracle(plan, c.mounts)
	wants := make([]expectation, len(c.ops))
	for i, op := range c.ops {
		wants[i] = o.expect(op)
	}
	c.explained(t, plan, o.rules, wants)
	kept := o.kept(c.places())
	answers := runProbe(t, cmd, plan, c.ops)
	count := map[expectation]int{}
	for i, a := range answers {
		count[wants[i]]++
		switch {
		case a.Undo != "":
			t.Fatalf("%v: undo: %s\n%s", c.ops[i], a.Undo, c.dump(plan))
		case wants[i] == must && a.Errno != 0, wants[i] == mustNot && !slices.Contains(refusals, a.Errno):
			t.Fatalf("%v: %v (%d), but the decision says it %v\n%s", c.ops[i], a.Errno, a.Errno, wants[i], c.dump(plan))
		}
	}
	for p, before := range kept {
		if after := stateOf(p, before.sized); after != before {
			t.Fatalf("%q: was %+v, is %+v\n%s", p, before, after, c.dump(plan))
		}
	}
	return count
}

// refusals are how the kernel says no, or that there is no such place. EINVAL is
// for truncate of a cover, which is a device.
var refusals = []unix.Errno{unix.EINVAL, unix.EACCES, unix.EPERM, unix.EROFS, unix.EBUSY, unix.EXDEV, unix.ENOENT, unix.ENOTDIR, unix.ELOOP}

func runProbe(t *rapid.T, cmd *Cmd, plan *policy.Plan, ops []fileOp) []fileAnswer {
	var in, out, said bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, op := range ops {
		enc.Encode(op)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &said
	if err := cmd.start(plan); err != nil {
		t.Fatalf("start: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the probe ended: %v: %s", err, &said)
	}
	var answers []fileAnswer
	dec := json.NewDecoder(&out)
	for range ops {
		var a fileAnswer
		if err := dec.Decode(&a); err != nil {
			t.Fatalf("the probe's answer: %v: %s", err, &said)
		}
		answers = append(answers, a)
	}
	return answers
}

// dump is the case for people to read.
func (c *kernelCase) dump(plan *policy.Plan) string {
	var b strings.Builder
	for _, n := range c.nodes {
		fmt.Fprintf(&b, "node %s %q", n.kind, n.path)
		if n.kind == "symlink" || n.kind == "hardlink" {
			fmt.Fprintf(&b, " -> %q", n.target)
		}
		b.WriteByte('\n')
	}
	for _, r := range plan.Files {
		if strings.HasPrefix(r.Path, c.base) && !(r.Kind == policy.Protect && !r.Exists) {
			fmt.Fprintf(&b, "rule %s %q pattern=%v exists=%v link=%v\n", r.Kind, r.Path, r.Pattern, r.Exists, r.Link)
		}
	}
	for _, m := range plan.Mounts {
		fmt.Fprintf(&b, "mount %s %q (%s)\n", m.Kind, m.Dest, m.Why)
	}
	return b.String()
}
