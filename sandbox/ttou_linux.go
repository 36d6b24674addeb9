package sandbox

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// withoutTTOU lets a background process change the terminal: it would be
// stopped by SIGTTOU unless it blocks it (tcsetpgrp(3)).
func withoutTTOU(change func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ttou, old unix.Sigset_t
	ttou.Val[0] = 1 << (uint(unix.SIGTTOU) - 1)
	unix.PthreadSigmask(unix.SIG_BLOCK, &ttou, &old)
	change()
	unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
}
