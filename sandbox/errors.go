package sandbox

import "fmt"

// RefusedError says that the limits could not be put up, so the command did
// not run.
type RefusedError struct {
	Feature string // what was attempted: "user namespaces", "bubblewrap"
	Need    string // what it takes
	Got     string // what this host answered
	Hint    string // the command or setting that helps; empty when none is known
	Err     error  // the cause, when a caller may test it
}

func (e *RefusedError) Error() string {
	s := e.Feature
	if e.Need != "" {
		s += ": need " + e.Need
	}
	if e.Got != "" {
		s += fmt.Sprintf(": %s", e.Got)
	}
	return s
}

func (e *RefusedError) Unwrap() error { return e.Err }

// ExitError is returned by Wait when the command ran and did not end with
// status 0, or was not found or not executable.
type ExitError struct{ Result Result }

func (e *ExitError) Error() string { return e.Result.String() }
