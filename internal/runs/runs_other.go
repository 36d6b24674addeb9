//go:build !unix

package runs

import (
	"errors"
	"net"
	"os"
)

// Record is the record of a run of this process.
type Record struct{ *os.File }

var errNone = errors.New("gosrt runs no command on this system")

// New makes no record here: nothing runs.
func (Dir) New(string) (*Record, error) { return nil, errNone }

// List is empty: nothing runs.
func (Dir) List() ([]string, error) { return nil, nil }

// Live says that nothing runs.
func (Dir) Live(string) bool { return false }

// Open finds nothing: nothing runs.
func (Dir) Open(string) (string, *os.File, error) { return "", nil, errNone }

// Control is where a run of this process takes changes.
type Control struct{ net.Listener }

// Listen makes no socket here: nothing runs.
func (Dir) Listen(string) (*Control, error) { return nil, errNone }

// Dial finds nothing: nothing runs.
func (Dir) Dial(string) (net.Conn, error) { return nil, errNone }
