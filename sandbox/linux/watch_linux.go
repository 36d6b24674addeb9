package linux

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// watcher sees protected names appear that were absent when the run began. It
// watches the few directories where one could: the nearest that exists above
// each, and those that appear on the way to it. It looks at the host's tree,
// through descriptors that it opened before the command started.
type watcher struct {
	events *os.File // inotify(7)
	fd     int
	dirs   map[int32]*watchedDir
	absent []string // the protected places, sorted
	// appeared is told of each, once, in the order they appear.
	appeared func(dir *os.File, name, path string)
	lost     bool // the kernel dropped events
	done     chan struct{}
}

type watchedDir struct {
	*os.File
	path string
}

func newWatcher(absent []string, appeared func(dir *os.File, name, path string)) (*watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	w := &watcher{events: os.NewFile(uintptr(fd), "inotify"), fd: fd, dirs: map[int32]*watchedDir{}, absent: absent,
		appeared: appeared, done: make(chan struct{})}
	for _, path := range absent {
		if err := w.watchAbove(path); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

// watchAbove watches the nearest directory above a place that is not there.
func (w *watcher) watchAbove(path string) error {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if w.watches(dir) {
			return nil
		}
		// Canonical, so that no link is followed.
		fd, err := unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{
			Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
		switch {
		case err == nil:
			return w.watch(&watchedDir{os.NewFile(uintptr(fd), dir), dir})
		case dir == "/", !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR):
			return err
		}
	}
}

func (w *watcher) watches(path string) bool {
	for _, d := range w.dirs {
		if d.path == path {
			return true
		}
	}
	return false
}

func (w *watcher) watch(d *watchedDir) error {
	const what = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_ONLYDIR
	wd, err := unix.InotifyAddWatch(w.fd, fdPath(d.File), what)
	if err != nil {
		d.Close()
		return os.NewSyscallError("inotify_add_watch", err)
	}
	w.dirs[int32(wd)] = d
	return nil
}

// run reads events until close.
func (w *watcher) run() {
	defer close(w.done)
	buf := make([]byte, 64<<10)
	for {
		n, err := w.events.Read(buf)
		if err != nil {
			return
		}
		w.handle(buf[:n])
	}
}

func (w *watcher) handle(events []byte) {
	for len(events) >= unix.SizeofInotifyEvent {
		e := (*unix.InotifyEvent)(unsafe.Pointer(&events[0]))
		size := unix.SizeofInotifyEvent + int(e.Len)
		name, _, _ := bytes.Cut(events[unix.SizeofInotifyEvent:size], []byte{0})
		events = events[size:]
		w.lost = w.lost || e.Mask&unix.IN_Q_OVERFLOW != 0
		if d := w.dirs[e.Wd]; d != nil && len(name) > 0 {
			w.see(d, string(name))
		}
	}
}

// see looks at a name that appeared in a watched directory.
func (w *watcher) see(d *watchedDir, name string) {
	path := filepath.Join(d.path, name)
	if _, found := slices.BinarySearch(w.absent, path); found {
		w.appeared(d.File, name, path)
		return
	}
	if !w.leads(path) {
		return
	}
	fd, err := unix.Openat(int(d.Fd()), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR): // a link or a file, where a directory would lead on
		var st unix.Stat_t
		if unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			w.appeared(d.File, name, path)
		}
	case err == nil:
		w.enter(&watchedDir{os.NewFile(uintptr(fd), path), path})
	}
}

// enter watches a directory that appeared, and sees what it already holds.
func (w *watcher) enter(d *watchedDir) {
	if w.watch(d) != nil {
		w.lost = true
		return
	}
	for _, path := range w.absent {
		rest, ok := strings.CutPrefix(path, d.path+"/")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, "/")
		var st unix.Stat_t
		if unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			w.see(d, name)
		}
	}
}

// leads says that a protected place lies beneath path.
func (w *watcher) leads(path string) bool {
	i, _ := slices.BinarySearch(w.absent, path+"/")
	return i < len(w.absent) && strings.HasPrefix(w.absent[i], path+"/")
}

// drain ends run and handles what it has not read.
func (w *watcher) drain() {
	w.events.SetReadDeadline(time.Unix(1, 0))
	<-w.done
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.fd, buf)
		if err != nil || n == 0 {
			return
		}
		w.handle(buf[:n])
	}
}

func (w *watcher) close() {
	w.events.Close()
	for _, d := range w.dirs {
		d.Close()
	}
}
