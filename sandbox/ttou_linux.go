package sandbox

import (
	"bytes"
	"fmt"
	"os"
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

// mayBeInside reports whether a process group's leader lives in a PID namespace
// beneath this process's, as all do that the command starts.
func mayBeInside(group int) bool {
	return pidDepth(fmt.Sprint(group)) > pidDepth("self")
}

// pidDepth counts a process's numbers, one for each PID namespace it is seen in:
// NSpid in proc_pid_status(5). It is 0 for a process that is gone.
func pidDepth(pid string) int {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("NSpid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return len(bytes.Fields(line))
}
