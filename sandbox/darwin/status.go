package darwin

import "syscall"

// Status is how the command ended, or why it never ran.
type Status struct {
	// Ran says that the command was started.
	Ran bool
	// Code is the exit status when Signal is zero.
	Code int
	// Signal ended the command; zero when it exited by itself.
	Signal syscall.Signal
	Core   bool
	// Missing: the command was not found. NotExecutable: found but could not be
	// executed, or hidden. Detail says what was tried.
	Missing, NotExecutable bool
	Detail                 string
}
