package sandbox

import (
	"fmt"
	"syscall"
	"time"

	"github.com/gosrt/gosrt/policy"
)

// Exit statuses that are gosrt's own; every other one is the command's. They
// follow timeout(1) and env(1).
const (
	StatusTimedOut      = 124 // the time limit ended the command
	StatusRefused       = 125 // gosrt refused or failed; the command did not run
	StatusNotExecutable = 126 // found but could not be executed
	StatusNotFound      = 127
	StatusSignal        = 128 // plus the number of the signal that ended the command
)

// Outcome says how a run ended, so that nobody has to guess from a number.
type Outcome string

const (
	Refused       Outcome = "refused" // also the zero Result's meaning
	Exited        Outcome = "exited"
	Signaled      Outcome = "signaled"
	TimedOut      Outcome = "timed-out"
	NotFound      Outcome = "not-found"
	NotExecutable Outcome = "not-executable"
)

// Result is what is known once a run has ended.
type Result struct {
	Outcome Outcome
	// Status is what gosrt exits with.
	Status int
	Signal syscall.Signal // for Signaled
	Detail string         // for NotFound and NotExecutable: what was tried
	Plan   *policy.Plan   // nil when there was none
	Time   time.Duration
	// Remarks are about what the run left behind and a person should look at,
	// one line each: a repository whose configuration runs programs, a protected
	// file that a program outside made meanwhile.
	Remarks []string
}

func (r Result) String() string {
	switch r.Outcome {
	case Exited:
		return fmt.Sprintf("exit status %d", r.Status)
	case Signaled:
		return fmt.Sprintf("signal: %v", r.Signal)
	case TimedOut:
		return "timed out"
	case NotFound, NotExecutable:
		return r.Detail
	}
	return "refused"
}
