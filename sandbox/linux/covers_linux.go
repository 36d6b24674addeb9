package linux

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// coverFiles mounts the null device on each path in a mount namespace, read-only
// and without devices, so that opening it answers EACCES. The paths hold no links;
// one that does by now is an error, and so is one that is gone.
func coverFiles(namespace int, paths []string) error {
	owner, err := unix.IoctlRetInt(namespace, unix.NS_GET_USERNS)
	if err != nil {
		return fmt.Errorf("owner of the mount namespace: %w", err)
	}
	defer unix.Close(owner)
	job := coverJob{userNS: uintptr(owner), mountNS: uintptr(namespace)}
	for _, p := range paths {
		b, err := unix.BytePtrFromString(p)
		if err != nil {
			return fmt.Errorf("cover %q: %w", p, err)
		}
		job.paths = append(job.paths, b)
	}
	at, errno, err := job.run()
	switch {
	case err != nil:
		return fmt.Errorf("cover files: %w", err)
	case errno == 0:
		return nil
	case at < 0:
		return fmt.Errorf("enter the sandbox to cover %d files: %w", len(paths), errno)
	}
	return fmt.Errorf("cover %q: %w", paths[at], errno)
}

// coverJob is what the forked child needs: it must not allocate.
type coverJob struct {
	userNS, mountNS, report uintptr
	paths                   []*byte
	null, empty             *byte
	attr                    unix.MountAttr
	how                     unix.OpenHow
	result                  [8]byte // index of the path, errno; both of the machine's order
}

// run forks a child that enters the namespaces: setns(2) lets no process with
// several threads into a user namespace. It returns where the child failed, -1
// before the first path.
func (j *coverJob) run() (at int, errno syscall.Errno, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return -1, 0, err
	}
	defer r.Close()
	j.report = w.Fd()
	j.null, j.empty = &[]byte("/dev/null\x00")[0], &[]byte{0}[0]
	j.attr = unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOSUID}
	j.how = unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	pid, fault := j.fork()
	w.Close()
	if fault != 0 {
		return -1, 0, os.NewSyscallError("clone", fault)
	}
	var said [8]byte
	_, readErr := r.Read(said[:])
	err = reapFork(pid)
	if readErr != nil {
		err = errors.Join(readErr, err)
	}
	return int(int32(binary.NativeEndian.Uint32(said[:]))), syscall.Errno(binary.NativeEndian.Uint32(said[4:])), err
}

func reapFork(pid int) error {
	for {
		_, err := unix.Wait4(pid, nil, 0, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// fork runs child in a copy of this process that no signal of the Go runtime
// reaches.
func (j *coverJob) fork() (int, syscall.Errno) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
	all, old := unix.Sigset_t{}, unix.Sigset_t{}
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	unix.PthreadSigmask(unix.SIG_BLOCK, &all, &old)
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	pid, errno := j.forkChild()
	return int(pid), errno
}

// forkChild is forkAndExecInChild of package syscall in small: between the fork
// and the exit there is one thread and no Go runtime, so nothing may grow the
// stack, allocate or be preempted.
//
//go:noinline
//go:norace
//go:nosplit
func (j *coverJob) forkChild() (pid uintptr, errno syscall.Errno) {
	pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	at, errno := j.child()
	*(*int32)(unsafe.Pointer(&j.result[0])) = int32(at)
	*(*int32)(unsafe.Pointer(&j.result[4])) = int32(errno)
	syscall.RawSyscall(unix.SYS_WRITE, j.report, uintptr(unsafe.Pointer(&j.result)), unsafe.Sizeof(j.result))
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
}

//go:norace
//go:nosplit
func (j *coverJob) child() (at int, errno syscall.Errno) {
	const (
		cwd       = ^uintptr(99) // AT_FDCWD, -100
		emptyPath = unix.AT_EMPTY_PATH
	)
	empty := uintptr(unsafe.Pointer(j.empty))
	if _, _, errno = syscall.RawSyscall(unix.SYS_SETNS, j.userNS, unix.CLONE_NEWUSER, 0); errno != 0 {
		return -1, errno
	}
	if _, _, errno = syscall.RawSyscall(unix.SYS_SETNS, j.mountNS, unix.CLONE_NEWNS, 0); errno != 0 {
		return -1, errno
	}
	null, _, errno := syscall.RawSyscall(unix.SYS_OPEN_TREE, cwd, uintptr(unsafe.Pointer(j.null)), unix.OPEN_TREE_CLONE)
	if errno != 0 {
		return -1, errno
	}
	if _, _, errno = syscall.RawSyscall6(unix.SYS_MOUNT_SETATTR, null, empty, emptyPath,
		uintptr(unsafe.Pointer(&j.attr)), unsafe.Sizeof(j.attr), 0); errno != 0 {
		return -1, errno
	}
	for i, p := range j.paths {
		file, _, errno := syscall.RawSyscall6(unix.SYS_OPENAT2, cwd, uintptr(unsafe.Pointer(p)),
			uintptr(unsafe.Pointer(&j.how)), unsafe.Sizeof(j.how), 0, 0)
		if errno != 0 {
			return i, errno
		}
		cover, _, errno := syscall.RawSyscall(unix.SYS_OPEN_TREE, null, empty, unix.OPEN_TREE_CLONE|emptyPath)
		if errno != 0 {
			return i, errno
		}
		_, _, errno = syscall.RawSyscall6(unix.SYS_MOVE_MOUNT, cover, empty, file, empty,
			unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH, 0)
		if errno != 0 {
			return i, errno
		}
		syscall.RawSyscall(unix.SYS_CLOSE, cover, 0, 0)
		syscall.RawSyscall(unix.SYS_CLOSE, file, 0, 0)
	}
	return 0, 0
}
