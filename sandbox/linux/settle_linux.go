package linux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/policy"
)

// What a caller that races the check has made is put away: at once while the
// command runs, and what is left when it is dead.

// Remark is something about the host's tree that the user should look at after
// the run. Nothing was denied.
type Remark struct {
	Path string
	Text string
}

// settler holds what a run leaves behind.
type settler struct {
	watching   sync.Once
	absent     []string // protected names to watch and to settle; empty until something was made
	watcher    *watcher
	quarantine quarantine
	activity   activity
	remarks    []Remark // of the watcher's goroutine until it ends
	left       map[string]bool
}

// making notes that a call which makes a name is about to continue. The first one
// starts the watch: a run that makes nothing need not pay for it, and what was
// there by then is not the command's.
func (g *Guard) making() {
	g.activity.note(time.Now())
	g.watching.Do(g.watchAbsent)
}

// watchAbsent begins to watch. Where the kernel gives no more watches, what is
// left at the end is put away all the same.
func (g *Guard) watchAbsent() {
	g.lookAround()
	w, err := newWatcher(g.absent, g.appeared)
	if err != nil {
		return
	}
	g.watcher = w
	go w.run()
}

// lookAround takes the absent names that are there by now for the host's: the
// command has made nothing yet.
func (g *Guard) lookAround() {
	g.absent = g.index.Absent()
	for _, path := range g.absent {
		var st unix.Stat_t
		if unix.Lstat(path, &st) == nil {
			g.leave(path)
		}
	}
}

// leave remembers that a protected name is not the command's.
func (g *Guard) leave(path string) {
	if g.left[path] {
		return
	}
	g.left[path] = true
	g.remarks = append(g.remarks, Remark{path, "a program outside made it during the run; it was left alone"})
}

// appeared decides whose a protected name is that has just appeared.
func (g *Guard) appeared(dir *os.File, name, path string) {
	g.decideWhose(dir, name, path, "it appeared while the command was making files, although its name is refused")
}

// decideWhose puts a name away that appeared while the command was making names.
// When that was is written in the file; what a program outside makes in the very
// moment is put away too, and named.
func (g *Guard) decideWhose(dir *os.File, name, path, why string) {
	switch t, err := g.appearedAt(dir, name); {
	case errors.Is(err, unix.ENOENT): // gone already
	case err == nil && !g.activity.covers(t):
		g.leave(path)
	default:
		g.putAway(dir, name, path, why)
	}
}

// appearedAt is when a file was made, or, for one that is older than the run,
// when its name was last changed.
func (g *Guard) appearedAt(dir *os.File, name string) (time.Time, error) {
	var st unix.Statx_t
	if err := unix.Statx(int(dir.Fd()), name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME|unix.STATX_CTIME, &st); err != nil {
		return time.Time{}, err
	}
	if made := time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)); st.Mask&unix.STATX_BTIME != 0 && !made.Before(g.began) {
		return made, nil
	}
	return time.Unix(st.Ctime.Sec, int64(st.Ctime.Nsec)), nil
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
	g.watching.Do(g.lookAround) // a run that made nothing
	if g.watcher != nil {
		g.watcher.drain()
		defer g.watcher.close()
	}
	for _, path := range g.absent {
		if !g.left[path] {
			g.settlePath(path, "it was there when the command had ended, although its name is refused", g.decideWhose)
		}
	}
	g.settleRepositories()
	g.quarantine.close()
	return g.remarks
}

// settlePath hands a path to settle if it is there.
func (g *Guard) settlePath(path, why string, settle func(dir *os.File, name, path, why string)) {
	dir, err := openPlain(filepath.Dir(path))
	if err != nil {
		return
	}
	defer dir.Close()
	var st unix.Stat_t
	if unix.Fstatat(int(dir.Fd()), filepath.Base(path), &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		settle(dir, filepath.Base(path), path, why)
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
	g.settlePath(path, fmt.Sprintf("it leads git on the host to %q, where the command could write hooks", git), g.putAway)
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
