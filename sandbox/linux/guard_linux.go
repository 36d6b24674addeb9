package linux

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/policy"
)

// GuardConfig is what a guard needs of a run.
type GuardConfig struct {
	Plan *policy.Plan
	// OnViolation is told of each refused or doomed call, from several
	// goroutines. Nil: nobody is.
	OnViolation func(policy.Violation)
}

// Guard answers the notified calls of one run: it refuses by name what no mount
// can hold, reports what the mounts will refuse, and lets everything else
// continue. What it is not: a boundary against a caller whose other threads
// change the name after it was read.
type Guard struct {
	config   GuardConfig
	arch     Arch
	calls    map[int]guardCall
	index    *policy.FileIndex
	began    time.Time
	listener *Listener
	view     atomic.Pointer[view]
	workers  sync.WaitGroup
	// connecting holds a place for each connect under way.
	connecting chan struct{}
	connects   sync.WaitGroup

	diagMu sync.Mutex
	diag   int // NETLINK_SOCK_DIAG inside; -1: none, and every socket counts as the host's

	settler

	mu sync.Mutex
	// made are names that a call was let through to make, for file systems that
	// do not know when a file was made; born are the new repositories.
	made, born map[string]bool
	// bound are the names that sockets were bound to.
	bound map[string]bool
}

// guardWorkers answer side by side.
// a slow file system; few, because each call wakes one.
const guardWorkers = 1

// NewGuard prepares a guard. The clock it reads must be read before the command
// starts: what is older existed before the run.
func NewGuard(c GuardConfig) (*Guard, error) {
	arch, err := ArchOf(runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	g := &Guard{config: c, arch: arch, calls: guardTable(arch), index: c.Plan.Files.Index(), began: coarseNow(),
		made: map[string]bool{}, born: map[string]bool{}, bound: map[string]bool{}, diag: -1, connecting: make(chan struct{}, maxConnecting),
		settler: settler{quarantine: quarantine{state: c.Plan.StateDir}, left: map[string]bool{}}}
	return g, nil
}

// coarseNow is the clock that inodes are stamped with, which lags by up to a tick.
func coarseNow() time.Time {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts) != nil {
		return time.Time{} // nothing counts as new
	}
	return time.Unix(ts.Unix())
}

// Listen is what Config.OnNotify takes; nil for no guard.
func (g *Guard) Listen() func(fd int) error {
	if g == nil {
		return nil
	}
	return g.serve
}

// serve takes the listener over and answers until the last process inside is
// gone or Close is called.
func (g *Guard) serve(fd int) error {
	l, err := NewListener(fd)
	if err != nil {
		return err
	}
	g.listener = l
	for range guardWorkers {
		g.workers.Go(g.work)
	}
	return nil
}

// Close ends the guard once nothing is left inside.
func (g *Guard) Close() {
	if g == nil {
		return
	}
	if g.listener != nil {
		g.listener.Close()
		g.workers.Wait()
	}
	go g.release()
}

// release waits for connects to servers that do not answer, which nobody inside
// waits for any more.
func (g *Guard) release() {
	g.connects.Wait()
	if v := g.view.Swap(nil); v != nil {
		unix.Close(v.root)
	}
	if g.diag >= 0 {
		unix.Close(g.diag)
		g.diag = -1
	}
}

// UseNetwork lets the guard tell the sockets made inside from the host's. It is
// called before the command starts.
func (g *Guard) UseNetwork(n *Network) {
	if g == nil {
		return
	}
	g.diagMu.Lock()
	defer g.diagMu.Unlock()
	g.diag, n.unixDiag = n.unixDiag, -1
}

func (g *Guard) work() {
	for {
		c, err := g.listener.Recv()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrClosed):
			return
		case err != nil:
			g.listener.Close() // what waits or comes fails with ENOSYS
			return
		}
		g.answer(c)
	}
}

// finding is a denial of one name of a call.
type finding struct {
	policy.Judgement
	path string
}

func (g *Guard) answer(c Call) {
	call, known := g.calls[c.Nr]
	if !known {
		g.listener.Continue(c.ID)
		return
	}
	v, err := g.root(c)
	if err != nil {
		g.listener.Fail(c.ID, unix.EACCES)
		return
	}
	in := inspection{Guard: g, view: v, call: c, spec: call}
	if call.kind == guardConnect {
		in.startConnect()
		return
	}
	f, err := g.examine(in)
	switch {
	case errors.Is(err, errDone):
		g.listener.Return(c.ID, 0)
	case err != nil && !kernelFails(err):
		g.listener.Fail(c.ID, unix.EACCES)
	case err != nil || f == nil:
		if call.kind.makes() {
			g.making()
		}
		g.listener.Continue(c.ID)
	case f.Refuse:
		if g.listener.Valid(c.ID) {
			g.report(c, call.call, f)
		}
		g.listener.Fail(c.ID, unix.EACCES)
	default:
		if g.listener.Valid(c.ID) {
			g.report(c, call.call, f)
		}
		g.making()
		g.listener.Continue(c.ID)
	}
}

// root opens the command's root directory at the first call.
func (g *Guard) root(c Call) (view, error) {
	if v := g.view.Load(); v != nil {
		return *v, nil
	}
	fd, err := unix.Open(caller{c.PID}.proc("root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return view{}, err
	}
	v := &view{root: fd, dirs: &dirCache{}}
	if !g.view.CompareAndSwap(nil, v) {
		unix.Close(fd)
	}
	return *g.view.Load(), nil
}

func (g *Guard) report(c Call, operation string, f *finding) {
	if g.config.OnViolation == nil {
		return
	}
	g.config.OnViolation(policy.Violation{
		Time: time.Now(), Kind: "write", Operation: operation, Target: f.path,
		PID: c.PID, Program: programOf(c.PID),
		Rule: f.Rule, Origin: originOf(f.Decision), Reason: f.Reason, Hint: f.Hint,
		Count: 1, Inferred: !f.Refuse,
	})
}

func originOf(d policy.Decision) string {
	if d.Rule == "" {
		return ""
	}
	return d.Origin.String()
}

func programOf(tid int) string {
	name, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/comm")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(name), "\n")
}

// errFailClosed refuses a call whose names cannot be judged but could matter.
var errFailClosed = errors.New("the call cannot be judged")

// kernelFails says that a name was not found for a reason for which the kernel's
// own lookup will not find it either, or that there is no caller any more. Any
// other fault is the guard's own and must not let the call through: it may be out
// of descriptors, or the caller a program that only its owner can read, into which
// LD_PRELOAD brings other code.
func kernelFails(err error) bool {
	for _, answer := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EBADF, unix.EFAULT, unix.EINVAL,
		unix.ENAMETOOLONG, errNoName, ErrGone, os.ErrProcessDone} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}

// inspection is one call under examination.
type inspection struct {
	*Guard
	view
	call Call
	spec guardCall
}

// examine returns the denial of one of the call's names, if there is one.
func (g *Guard) examine(in inspection) (*finding, error) {
	switch in.spec.kind {
	case guardOpen:
		flags := uint64(unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC) // creat
		if in.spec.flags >= 0 {
			flags = uint64(uint32(in.call.Args[in.spec.flags]))
		}
		return in.open(in.view, flags)
	case guardMake:
		return in.make(policy.ActCreate)
	case guardSymlink:
		in.view.dirs.flush()
		return in.make(policy.ActSymlink)
	case guardLink:
		return in.link()
	case guardRename:
		in.view.dirs.flush()
		return in.rename()
	case guardTruncate:
		return in.open(in.view, unix.O_WRONLY)
	case guardRemove:
		in.view.dirs.removed()
		return in.remove()
	case guardBind:
		return in.bind()
	}
	return nil, nil
}

// cwd is AT_FDCWD as an argument.
const cwd = uint64(uint32(0xffffff9c))

// locate finds one of the call's names.
func (in inspection) locate(v view, n nameArgs, follow bool) (spot, error) {
	text, err := in.listener.ReadPath(in.call, in.call.Args[n.path])
	if err != nil {
		return spot{}, err
	}
	dirfd := cwd
	if n.dir >= 0 {
		dirfd = in.call.Args[n.dir]
	}
	s, err := v.locate(caller{in.call.PID}, dirfd, text, follow)
	if errors.Is(err, unix.ENAMETOOLONG) {
		// The kernel can reach by a descriptor what has no path that fits.
		return spot{}, errFailClosed
	}
	return s, err
}

// judge asks the policy about one name.
func (in inspection) judge(act policy.Act, s spot) *finding {
	j := in.index.Judge(act, s.path, in.isNew)
	if j.Verdict == policy.Allow {
		if j.Born != "" {
			in.remember(in.born, j.Born)
		}
		if act == policy.ActCreate && strings.Contains(s.path, ".git") {
			in.remember(in.made, s.path) // see isNew
		}
		return nil
	}
	if s.readOnly { // see spot
		j.Refuse = true
	}
	return &finding{j, s.path}
}

const openTmpfile = unix.O_TMPFILE &^ unix.O_DIRECTORY

// open examines opening for writing or creating.
func (in inspection) open(v view, flags uint64) (*finding, error) {
	if flags&unix.O_PATH != 0 {
		return nil, nil
	}
	create := flags&unix.O_CREAT != 0
	exclusive := create && flags&unix.O_EXCL != 0
	s, err := in.locate(v, in.spec.name, flags&unix.O_NOFOLLOW == 0 && !exclusive)
	if err != nil {
		return nil, err
	}
	writes := flags&unix.O_ACCMODE != unix.O_RDONLY || flags&unix.O_TRUNC != 0
	switch {
	case flags&openTmpfile != 0:
		return in.judge(policy.ActWrite, spot{path: s.path + "/#unnamed", readOnly: s.readOnly}), nil
	case exclusive:
		return in.absent(policy.ActCreate, s), nil
	}
	// Whether it exists matters only where something is denied: a name that may be
	// made may be written.
	f := in.judge(policy.ActCreate, s)
	if f == nil {
		return nil, nil
	}
	switch v.kind(s) {
	case 0:
		if create {
			return f, nil
		}
	case unix.S_IFREG:
		if writes {
			return in.judge(policy.ActWrite, s), nil
		}
	}
	return nil, nil // reading, or an error that is the kernel's to find
}

// absent judges the making of a name by a call that fails when it exists. The
// look whether it does is spared where nothing is denied.
func (in inspection) absent(act policy.Act, s spot) *finding {
	f := in.judge(act, s)
	if f != nil && in.exists(s) {
		return nil
	}
	return f
}

// make examines a call that makes the name and fails when it exists.
func (in inspection) make(act policy.Act) (*finding, error) {
	s, err := in.locate(in.view, in.spec.name, false)
	if err != nil {
		return nil, err
	}
	return in.absent(act, s), nil
}

func (in inspection) link() (*finding, error) {
	to, err := in.locate(in.view, in.spec.to, false)
	if err != nil {
		return nil, err
	}
	f := in.absent(policy.ActSymlink, to) // the stricter question
	if f == nil {
		return nil, nil
	}
	// An empty name with AT_EMPTY_PATH is a descriptor, of a file: what it was
	// opened as does not matter.
	follow := in.spec.flags >= 0 && in.call.Args[in.spec.flags]&unix.AT_SYMLINK_FOLLOW != 0
	if from, err := in.locate(in.view, in.spec.name, follow); err == nil && in.kind(from) == unix.S_IFLNK {
		return f, nil
	}
	return in.absent(policy.ActCreate, to), nil
}

func (in inspection) rename() (*finding, error) {
	from, err := in.locate(in.view, in.spec.name, false)
	if err != nil {
		return nil, err
	}
	to, err := in.locate(in.view, in.spec.to, false)
	if err != nil || to.path == from.path {
		return nil, err
	}
	var flags uint64
	if in.spec.flags >= 0 {
		flags = in.call.Args[in.spec.flags]
	}
	f := in.move(from, to)
	if f == nil && flags&unix.RENAME_EXCHANGE != 0 {
		f = in.move(to, from)
	}
	switch {
	case f == nil:
	case !in.exists(from),
		flags&unix.RENAME_NOREPLACE != 0 && in.exists(to),
		flags&unix.RENAME_EXCHANGE != 0 && !in.exists(to):
		return nil, nil // the kernel fails it
	case f.Refuse && flags == 0 && in.replacesWithSame(from, to):
		return nil, errDone
	}
	return f, nil
}

// move examines that what is at from comes to lie at to. What kind of file that
// is needs a look only where it matters.
func (in inspection) move(from, to spot) *finding {
	if f := in.judge(policy.ActRemove, from); f != nil {
		return f
	}
	f, alike := in.judge(policy.ActSymlink, to), in.index.SameBelow(from.path, to.path)
	if f == nil && alike {
		return nil
	}
	switch in.kind(from) {
	case unix.S_IFLNK:
		return f
	case unix.S_IFDIR:
		if f := in.judge(policy.ActCreate, to); f != nil {
			return f
		}
		budget := maxBrought
		return in.brings(from.path, to.path, &budget)
	}
	return in.judge(policy.ActCreate, to)
}

// maxBrought bounds the look into a directory that is moved to where rules apply.
const maxBrought = 4096

// brings looks for a name in a directory that would be denied once it is moved:
// a repository built under another name would bring its hooks.
func (in inspection) brings(from, to string, budget *int) *finding {
	if in.index.SameBelow(from, to) {
		return nil
	}
	names, err := in.view.list(from, *budget)
	if err != nil {
		return unjudged(to, fmt.Sprintf("the directory to be moved there cannot be looked into (%v)", err))
	}
	*budget -= len(names)
	for _, e := range names {
		act := policy.ActCreate
		if e.link {
			act = policy.ActSymlink
		}
		at := path.Join(to, e.name)
		j := in.index.Judge(act, at, func(p string) bool { return in.isNew(movedBack(p, to, from)) })
		if j.Verdict != policy.Allow {
			j.Reason = fmt.Sprintf("the directory moved here would bring %q: %s", e.name, j.Reason)
			return &finding{j, at}
		}
		if !e.dir {
			continue
		}
		if f := in.brings(path.Join(from, e.name), at, budget); f != nil {
			return f
		}
	}
	return nil
}

func unjudged(path, why string) *finding {
	return &finding{policy.Judgement{Decision: policy.Decision{Reason: why}, Refuse: true}, path}
}

// movedBack is where p is before the move from from to to.
func movedBack(p, to, from string) string {
	if rest, ok := strings.CutPrefix(p, to); ok && (rest == "" || rest[0] == '/') {
		return from + rest
	}
	return p
}

func (in inspection) remove() (*finding, error) {
	s, err := in.locate(in.view, in.spec.name, false)
	if err != nil {
		return nil, err
	}
	f := in.judge(policy.ActRemove, s)
	if f != nil && !in.exists(s) {
		return nil, nil
	}
	return f, nil
}

// bind of a Unix socket makes a name.
func (in inspection) bind() (*finding, error) {
	addr, raw, err := in.listener.ReadSockaddr(in.call, in.call.Args[1], in.call.Args[2])
	if err != nil && len(raw) > 0 {
		return nil, unix.EINVAL // what ParseSockaddr refuses, the kernel does
	}
	if err != nil || addr.Path == "" {
		return nil, err
	}
	s, err := in.view.locate(caller{in.call.PID}, cwd, addr.Path, false)
	if err != nil {
		return nil, err
	}
	f := in.absent(policy.ActCreate, s)
	if f == nil {
		in.remember(in.bound, s.path)
	}
	return f, nil
}
