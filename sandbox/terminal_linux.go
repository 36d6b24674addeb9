package sandbox

import (
	"os"
	"runtime"

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
func reclaimTerminal() {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer tty.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ttou, old unix.Sigset_t
	ttou.Val[0] = 1 << (uint(unix.SIGTTOU) - 1)
	unix.PthreadSigmask(unix.SIG_BLOCK, &ttou, &old) // tcsetpgrp(3): else a background caller is stopped
	unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCSPGRP, unix.Getpgrp())
	unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
}
