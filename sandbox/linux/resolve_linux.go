package linux

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Names as the caller sees them. Nothing inside can change its root directory
// (the static filter refuses chroot and pivot_root), so one descriptor of the
// root serves all callers.

const maxLinks = 40 // MAXSYMLINKS of linux/namei.h

// errNoName says that what a descriptor or magic link stands for has no path: a
// pipe, a socket, a deleted directory.
var errNoName = errors.New("it has no name")

// view is the file tree of the command, or of a call that names a root of its own.
type view struct {
	root int // O_PATH
	dirs *dirCache
}

// spot is where a name is: the canonical path, the name itself not followed
// unless the call follows it.
type spot struct {
	path string
	// readOnly says that the way led through a descriptor of the caller's that is
	// open for reading only. Its mount may be the host's, which no mount of the
	// run's restricts.
	readOnly bool
}

// kind is the type (S_IFMT) of what is at the spot; 0: nothing that can be seen.
func (v view) kind(s spot) uint32 {
	var st unix.Stat_t
	// The path is canonical, so no link leads out of the root.
	if unix.Fstatat(v.root, "."+s.path, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return 0
	}
	return st.Mode & unix.S_IFMT
}

func (v view) exists(s spot) bool { return v.kind(s) != 0 }

// caller is one thread inside.
type caller struct{ tid int }

func (c caller) proc(rest string) string { return "/proc/" + strconv.Itoa(c.tid) + "/" + rest }

// base is the canonical path of a directory that the caller holds: its working
// directory or a descriptor. Only the low half of the argument counts, as for
// the kernel.
func (c caller) base(dirfd uint64) (string, error) {
	link := c.proc("cwd")
	if fd := int32(dirfd); fd != unix.AT_FDCWD {
		if fd < 0 {
			return "", unix.EBADF
		}
		link = c.proc("fd/" + strconv.Itoa(int(fd)))
	}
	return named(readLink(unix.AT_FDCWD, link))
}

// named keeps a link's text only when it is a path.
func named(text string, err error) (string, error) {
	if err == nil && !strings.HasPrefix(text, "/") {
		return "", errNoName
	}
	return text, err
}

func readLink(dir int, name string) (string, error) {
	var buf [pathMax]byte
	n, err := unix.Readlinkat(dir, name, buf[:])
	if err != nil {
		return "", err
	}
	if n == len(buf) {
		return "", unix.ENAMETOOLONG
	}
	return string(buf[:n]), nil
}

// open opens a path beneath the command's root, links followed there.
func (v view) open(path string, flags uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
	for {
		fd, err := unix.Openat2(v.root, path, &how)
		// EAGAIN: a rename elsewhere disturbed the lookup of a ".." (openat2(2)).
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// locate finds where a name is. The kernel finds the same unless somebody
// changes the tree or the text meanwhile. An error means that the kernel's own
// lookup will fail too, or that there is no name to judge.
func (v view) locate(c caller, dirfd uint64, name string, follow bool) (spot, error) {
	if name == "" {
		return spot{}, unix.ENOENT
	}
	if !strings.HasPrefix(name, "/") {
		base, err := c.base(dirfd)
		if err != nil {
			return spot{}, err
		}
		name = base + "/" + name
	}
	s := spot{}
	for range maxLinks {
		next, err := v.step(c, name, follow, &s)
		if err != nil || next == "" {
			return s, err
		}
		name = next
	}
	return spot{}, unix.ELOOP
}

// step looks at the last component of an absolute path. It returns the path to
// go on with when that is a link to be followed.
func (v view) step(c caller, path string, follow bool, s *spot) (string, error) {
	dir, name := splitLast(path)
	at, err := v.canonical(c, dir, s)
	if err != nil || name == "" { // no name: the path leads to a directory as a whole
		s.path = at
		return "", err
	}
	s.path = strings.TrimSuffix(at, "/") + "/" + name
	if !follow || v.kind(*s) != unix.S_IFLNK {
		return "", nil
	}
	target, err := readLink(v.root, "."+s.path)
	if err != nil {
		return "", err
	}
	if magic(s.path) {
		s.readOnly = s.readOnly || v.opensReadOnly(s.path)
		return named(target, nil)
	}
	if strings.HasPrefix(target, "/") {
		return target, nil
	}
	return dir + "/" + target, nil
}

// splitLast cuts a path before its last component. The name is empty when the
// last component is "." or "..", which name no entry of their own; then the
// directory is the whole path.
func splitLast(path string) (dir, name string) {
	trimmed := strings.TrimRight(path, "/")
	i := strings.LastIndexByte(trimmed, '/')
	if i < 0 {
		return "/", ""
	}
	name = trimmed[i+1:]
	if name == "." || name == ".." {
		return trimmed, ""
	}
	return trimmed[:i+1], name
}

// canonical is the path of a directory with every link followed. Where the
// kernel's lookup under a foreign root does not do what the caller's would
// (/proc/self is another process, magic links are refused), the path is walked
// here.
func (v view) canonical(c caller, path string, s *spot) (string, error) {
	if at, ok := v.dirs.get(path); ok {
		return at, nil
	}
	at, err := v.pathOf(path)
	switch {
	case err == nil:
		v.dirs.put(path, at)
		return at, nil
	case !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.ELOOP):
		return "", err
	}
	plain, err := v.walk(c, path, s)
	if err != nil {
		return "", err
	}
	return v.pathOf(plain)
}

func (v view) pathOf(dir string) (string, error) {
	fd, err := v.open(dir, unix.O_DIRECTORY)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return named(readLink(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd)))
}

// walk resolves a path component by component, as the caller would.
func (v view) walk(c caller, path string, s *spot) (string, error) {
	at, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at, _ = splitLast(at)
			at = "/" + strings.Trim(at, "/")
			continue
		}
		next := strings.TrimSuffix(at, "/") + "/" + name
		if own, err := c.own(next); err != nil {
			return "", err
		} else if own != "" {
			at = own
			continue
		}
		target, err := v.linkAt(next)
		switch {
		case errors.Is(err, unix.EINVAL): // no link
			at = next
			continue
		case err != nil:
			return "", err
		}
		if links++; links > maxLinks {
			return "", unix.ELOOP
		}
		if magic(next) {
			s.readOnly = s.readOnly || v.opensReadOnly(next)
			if at, err = named(target, nil); err != nil {
				return "", err
			}
			continue
		}
		if strings.HasPrefix(target, "/") {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, nil
}

func (v view) linkAt(path string) (string, error) {
	fd, err := v.open(path, unix.O_NOFOLLOW)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	text, err := readLink(fd, "")
	if errors.Is(err, unix.ENOENT) { // an empty name of what is no link (readlink(2))
		err = unix.EINVAL
	}
	return text, err
}

// magic says that a path is a link of procfs that leads straight to an object.
func magic(path string) bool {
	rest, ok := strings.CutPrefix(path, "/proc/")
	if !ok {
		return false
	}
	parts := strings.Split(rest, "/")
	if len(parts) > 3 && parts[1] == "task" {
		parts = parts[2:]
	}
	switch {
	case len(parts) == 2:
		return parts[1] == "cwd" || parts[1] == "root" || parts[1] == "exe"
	case len(parts) == 3:
		return parts[1] == "fd" || parts[1] == "ns" || parts[1] == "map_files"
	}
	return false
}

// own spells /proc/self and /proc/thread-self for the caller.
func (c caller) own(path string) (string, error) {
	if path != "/proc/self" && path != "/proc/thread-self" {
		return "", nil
	}
	status, err := os.ReadFile(c.proc("status"))
	if err != nil {
		return "", err
	}
	process, thread := statusField(status, "NStgid"), statusField(status, "NSpid")
	if process == "" || thread == "" {
		return "", unix.ENOENT
	}
	if path == "/proc/self" {
		return "/proc/" + process, nil
	}
	return "/proc/" + process + "/task/" + thread, nil
}

// statusField is the last number of a line of /proc/PID/status: the one in the
// innermost namespace (proc_pid_status(5)).
func statusField(status []byte, name string) string {
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			fields := bytes.Fields(rest)
			if len(fields) > 0 {
				return string(fields[len(fields)-1])
			}
		}
	}
	return ""
}

// opensReadOnly says that the descriptor behind a link of procfs is not open for
// writing. What cannot be known counts as read-only.
func (v view) opensReadOnly(link string) bool {
	i := strings.LastIndex(link, "/fd/")
	if i < 0 {
		return false
	}
	info, err := v.read(link[:i] + "/fdinfo/" + link[i+len("/fd/"):])
	if err != nil {
		return true
	}
	flags, err := strconv.ParseUint(statusField(info, "flags"), 8, 64)
	return err != nil || flags&unix.O_ACCMODE == unix.O_RDONLY
}

// read returns the beginning of a small file.
func (v view) read(path string) ([]byte, error) {
	fd, err := unix.Openat2(v.root, path, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, pathMax)
	n, err := unix.Read(fd, buf)
	return buf[:max(n, 0)], err
}

// entry is one name of a directory.
type entry struct {
	name      string
	dir, link bool
}

// list returns the names in a directory; more than limit is an error.
func (v view) list(path string, limit int) ([]entry, error) {
	fd, err := unix.Openat2(v.root, path, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	found, err := dir.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(found) > limit {
		return nil, errors.New("it holds too much")
	}
	entries := make([]entry, len(found))
	for i, e := range found {
		entries[i] = entry{e.Name(), e.IsDir(), e.Type()&os.ModeSymlink != 0}
	}
	return entries, nil
}
