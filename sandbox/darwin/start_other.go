//go:build !darwin

package darwin

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/gosrt/gosrt/policy"
)

// Config is one run; see the darwin build for its fields' meaning.
type Config struct {
	Plan                  *policy.Plan
	FS                    policy.FS
	Stdin, Stdout, Stderr *os.File
	OnViolation           func(policy.Violation)
	OnStop                func(bool)
}

// Process is a run; none is ever started here.
type Process struct{}

// Start fails: Seatbelt exists on macOS alone.
func Start(Config) (*Process, error) {
	return nil, fmt.Errorf("seatbelt: needs darwin, this is %s", runtime.GOOS)
}

// Wait, Signal, Foreground and Kill are never reached.
func (*Process) Wait() Status                { return Status{} }
func (*Process) Signal(syscall.Signal) error { return nil }
func (*Process) Foreground() error           { return nil }
func (*Process) Kill()                       {}
