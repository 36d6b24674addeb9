package main

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is the time of the last change of content, mode or name (stat(2), st_ctim).
func changeTime(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
