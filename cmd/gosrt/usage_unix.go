//go:build unix

package main

import (
	"runtime"
	"syscall"
	"time"
)

// usage is what everything that this process started has used, getrusage(2):
// processor time, and the largest resident size of one process in bytes.
func usage() (user, system time.Duration, peak int64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u) != nil {
		return 0, 0, 0
	}
	peak = int64(u.Maxrss)
	if runtime.GOOS != "darwin" { // bytes there, kilobytes elsewhere
		peak *= 1024
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano()), peak
}
