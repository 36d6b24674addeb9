package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/gosrt/gosrt/sandbox"
)

// Statuses of gosrt's own beside those in package sandbox, which follow
// coreutils' timeout(1) and env(1). Any other is the command's.
const (
	exitOK      = 0
	exitProblem = 1 // doctor or policy check found something wrong
)

// exitMeanings is the table that --help, the man page and README print.
var exitMeanings = []struct {
	Status  string
	Meaning string
}{
	{"n", "the command's own status"},
	{"128+n", "signal n ended the command"},
	{fmt.Sprint(sandbox.StatusTimedOut), "the command ran longer than --timeout"},
	{fmt.Sprint(sandbox.StatusRefused), "gosrt refused or failed; the command did not run"},
	{fmt.Sprint(sandbox.StatusNotExecutable), "the command was found but could not be executed"},
	{fmt.Sprint(sandbox.StatusNotFound), "the command was not found"},
}

func writeExitMeanings(w io.Writer) {
	for _, e := range exitMeanings {
		fmt.Fprintf(w, "  %-6s %s\n", e.Status, e.Meaning)
	}
}

// exitError ends gosrt with a status and no further line: what there is to say
// has been said, by the command or by a report on standard output.
type exitError struct{ status int }

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// exitWith is nil for a zero status.
func exitWith(status int) error {
	if status == exitOK {
		return nil
	}
	return exitError{status}
}

// exitStatus is the status that err ends gosrt with. Whatever is not told apart
// by type happened before the command could run.
func exitStatus(err error) int {
	var exit exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.status
	}
	return sandbox.StatusRefused
}
