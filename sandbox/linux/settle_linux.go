package linux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/policy"
)

// What a caller that races the check has made is put away: at once while the
// command runs, and what is left when it is dead.

// racing is how long after a creating call was let through what appears is taken
// for the command's. The call itself takes microseconds; the event can be late on
// a busy machine.
const racing = 100 * time.Millisecond

// Remark is something about the host's tree that the user should look at after
// the run. Nothing was denied.
type Remark struct {
	Path string
	Text string
}

// settler holds what a run leaves behind.
type settler struct {
	watcher    *watcher
	quarantine quarantine
	lastMade   atomic.Int64 // when a creating call was last let through; Unix nanoseconds
	remarks    []Remark     // of the watcher's goroutine until it ends
	left       map[string]bool
}

// watchAbsent starts watching before the command does.
func (g *Guard) watchAbsent() error {
	absent := g.index.Absent()
	if len(absent) == 0 {
		return nil
	}
	w, err := newWatcher(absent, g.appeared)
	if err != nil {
		return fmt.Errorf("watch for protected names: %w", err)
	}
	g.watcher = w
	go w.run()
	return nil
}

// making notes that a call which makes a name is about to continue.
func (g *Guard) making() { g.lastMade.Store(time.Now().UnixNano()) }

// appeared decides whose a protected name is that has just appeared.
func (g *Guard) appeared(dir *os.File, name, path string) {
	if time.Since(time.Unix(0, g.lastMade.Load())) > racing {
		g.left[path] = true
		g.remarks = append(g.remarks, Remark{path, "a program outside made it during the run; it was left alone"})
		return
	}
	g.putAway(dir, name, path, "it appeared while the command was making files, although its name is refused")
}

// putAway moves a name into quarantine and reports it.
func (g *Guard) putAway(dir *os.File, name, path, why string) {
	kept, err := g.quarantine.take(dir, name)
	if errors.Is(err, unix.ENOENT) {
		return // gone already
	}
	d := g.index.Judge(policy.ActCreate, path, func(string) bool { return false })
	v := policy.Violation{Time: time.Now(), Kind: "quarantine", Operation: "create", Target: path,
		Rule: d.Rule, Origin: originOf(d.Decision), Reason: why + "; it is kept in " + kept, Count: 1}
	if err != nil {
		v.Reason = fmt.Sprintf("%s, and it could not be put away: %v", why, err)
	}
	if g.config.OnViolation != nil {
		g.config.OnViolation(v)
	}
}

// Settle puts away what is left once nothing runs inside any more, and returns
// what the user should look at. Close must have returned.
func (g *Guard) Settle() []Remark {
	if g == nil {
		return nil
	}
	if g.watcher != nil {
		g.watcher.drain()
		for _, path := range g.watcher.absent {
			if !g.left[path] {
				g.settlePath(path, "it was there when the command had ended, although its name is refused")
			}
		}
		g.watcher.close()
	}
	g.settleRepositories()
	g.quarantine.close()
	return g.remarks
}

// settlePath puts a path away if it is there.
func (g *Guard) settlePath(path, why string) {
	dir, err := openPlain(filepath.Dir(path))
	if err != nil {
		return
	}
	defer dir.Close()
	var st unix.Stat_t
	if unix.Fstatat(int(dir.Fd()), filepath.Base(path), &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		g.putAway(dir, filepath.Base(path), path, why)
	}
}

// openPlain opens a directory by its canonical path; a link on the way is an error.
func openPlain(path string) (*os.File, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// settleRepositories looks at the repositories that the command made: hooks
// beyond git's samples are put away, and a configuration that makes git run
// programs is named.
func (g *Guard) settleRepositories() {
	g.mu.Lock()
	defer g.mu.Unlock()
	repositories := make([]string, 0, len(g.born))
	for path := range g.born {
		repositories = append(repositories, path)
	}
	slices.Sort(repositories)
	for _, path := range repositories {
		g.settlePointer(path)
		g.settleHooks(filepath.Join(path, "hooks"))
		for _, name := range []string{"config", "config.worktree"} {
			g.settleConfig(filepath.Join(path, name))
		}
	}
}

func (g *Guard) settleHooks(path string) {
	dir, err := openPlain(path)
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if !strings.HasSuffix(name, ".sample") {
			g.putAway(dir, name, filepath.Join(path, name), "a hook in a repository that the command made")
		}
	}
}

func (g *Guard) settleConfig(path string) {
	text, ok := readRegular(unix.AT_FDCWD, path, unix.RESOLVE_NO_SYMLINKS)
	if !ok {
		return
	}
	if keys := policy.GitPrograms(text); len(keys) > 0 {
		g.remarks = append(g.remarks, Remark{path, "git on the host would obey " + strings.Join(keys, ", ") + " in the repository that the command made"})
	}
}

// settlePointer looks at a .git file that the command made. Git itself makes one
// for a worktree or a submodule, and then it leads to where hooks are refused.
func (g *Guard) settlePointer(path string) {
	text, ok := readRegular(unix.AT_FDCWD, path, unix.RESOLVE_NO_SYMLINKS)
	if !ok {
		return
	}
	git, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok {
		return
	}
	git = absolute(filepath.Dir(path), git)
	if common, ok := readRegular(unix.AT_FDCWD, filepath.Join(git, "commondir"), unix.RESOLVE_NO_SYMLINKS); ok {
		git = absolute(git, strings.TrimRight(string(common), "\r\n"))
	}
	never := func(string) bool { return false }
	if real, err := filepath.EvalSymlinks(git); err == nil && g.index.Judge(policy.ActCreate, real+"/hooks/x", never).Verdict != policy.Allow {
		return
	}
	g.settlePath(path, fmt.Sprintf("it leads git on the host to %q, where the command could write hooks", git))
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
