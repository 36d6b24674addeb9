//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// failBackgroundReads makes reading a terminal that belongs to another process
// group an error, instead of what stops gosrt.
func failBackgroundReads() { signal.Ignore(syscall.SIGTTIN) }
