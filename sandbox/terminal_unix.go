//go:build linux || darwin

package sandbox

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ownsTerminal reports whether this process's group is in the foreground of its
// controlling terminal.
func ownsTerminal() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// reclaimTerminal puts this process's group back into the foreground, which an
// interactive shell inside had taken and, being dead or stopped, cannot return.
// From a job outside it takes nothing: the user's shell has the terminal while
// gosrt is in the background.
func reclaimTerminal() {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	if err != nil || !gone(group) && !mayBeInside(group) {
		return
	}
	withoutTTOU(func() { unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCSPGRP, unix.Getpgrp()) })
}

// gone reports whether a process group has no member left.
func gone(group int) bool {
	return group <= 0 || errors.Is(unix.Kill(-group, 0), unix.ESRCH)
}
