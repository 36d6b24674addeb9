package stage

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Install puts a filter on every thread of this process, for good; what it
// starts inherits it. It needs no_new_privs, which it sets on every thread too
// (SECCOMP_FILTER_FLAG_TSYNC carries it along).
func Install(filter []Instruction) error {
	_, err := install(filter, unix.SECCOMP_FILTER_FLAG_TSYNC)
	return err
}

// InstallNotify puts a filter with Notify rows on the calling thread alone and
// returns the listener's descriptor, close-on-exec. The goroutine must be locked
// to its thread, start the command itself (a child inherits the filters of the
// thread that forks) and end without unlocking, which ends the thread. Go starts
// no other thread from a locked one, so the filter goes nowhere else.
//
// Only this thread, because its own notified calls wait for a supervisor that
// does not have the listener yet: another thread sends it out, since sendmsg may
// be notified as well. The static filter is on all of them.
func InstallNotify(filter []Instruction) (int, error) {
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if KillableWait() {
		flags |= unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	}
	return install(filter, flags)
}

// KillableWait says whether a notified call that the supervisor has taken up is
// interrupted by fatal signals only (Linux 5.19). Without it, a signal restarts
// the call and it is notified again.
func KillableWait() bool {
	return flagsKnown(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
}

// NotifySupported says whether this kernel has what InstallNotify needs (Linux
// 5.0). It answers false beneath the static filter, which refuses listeners.
func NotifySupported() bool {
	return flagsKnown(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
}

// TryNotify says what keeps a command from being notified on this host; nil when
// nothing does. It installs a filter that lets everything pass on a thread that
// then ends: only that shows whether a supervisor outside already listens to
// this process, as LXC's does, and the kernel takes one listener (EBUSY).
var TryNotify = sync.OnceValue(func() error {
	if !NotifySupported() {
		return errors.New("no seccomp user notification: Linux 5.0 or later, CONFIG_SECCOMP_FILTER")
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread()                                  // never unlocked
		const returnAllow, allow = 0x06, unix.SECCOMP_RET_ALLOW // BPF_RET|BPF_K of linux/bpf_common.h
		fd, err := InstallNotify([]Instruction{{Op: returnAllow, K: allow}})
		if err == nil {
			unix.Close(fd)
		}
		result <- err
	}()
	return <-result
})

// flagsKnown offers a filter at address zero: EFAULT says that the flags were
// accepted, EINVAL that they were not. Nothing is installed either way.
func flagsKnown(flags uintptr) bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, 0)
	return errno == unix.EFAULT
}

func install(filter []Instruction, flags uintptr) (int, error) {
	if len(filter) == 0 {
		return -1, errors.New("BUG(gosrt): seccomp filter: empty")
	}
	runtime.LockOSThread() // no_new_privs is the thread's until TSYNC spreads it
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("set no_new_privs: %w", err)
	}
	prog := unix.SockFprog{
		Len: uint16(len(filter)),
		// Instruction is laid out as struct sock_filter.
		Filter: (*unix.SockFilter)(unsafe.Pointer(&filter[0])),
	}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	switch {
	case errno == unix.ENOSYS, errno == unix.EINVAL:
		return -1, fmt.Errorf("seccomp filter: this kernel does not take it (%w): enable CONFIG_SECCOMP_FILTER, Linux 5.10 or later", errno)
	case errno != 0:
		return -1, fmt.Errorf("seccomp filter: %w", errno)
	case fd != 0 && flags&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER == 0:
		return -1, fmt.Errorf("seccomp filter: thread %d cannot take it", fd)
	}
	return int(fd), nil
}
