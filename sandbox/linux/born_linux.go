package linux

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// isNew reports whether a path did not exist when the run began. When a file was
// made is written in it, and nothing inside can change that (the birth time has
// no system call, the clock is the host's).
func (g *Guard) isNew(path string) bool {
	v := g.view.Load()
	if v == nil {
		return false
	}
	fd, err := v.open(path, unix.O_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return true // what existed cannot be taken away (see judge)
	}
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	if unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st) != nil {
		return false
	}
	if st.Mask&unix.STATX_BTIME == 0 {
		return g.hasMade(g.made, path)
	}
	return !time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)).Before(g.began)
}

// maxRemembered bounds what a command can make the guard remember.
const maxRemembered = 1 << 14

func (g *Guard) remember(set map[string]bool, path string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(set) < maxRemembered {
		set[path] = true
	}
}

func (g *Guard) hasMade(set map[string]bool, path string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return set[path]
}
