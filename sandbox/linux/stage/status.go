package stage

import (
	"encoding/json"
	"syscall"
)

// Status is how the command ended, or why it never ran.
type Status struct {
	// Ran says that the command was started; everything else but Missing,
	// NotExecutable and Detail is about a command that ran.
	Ran bool
	// Code is the exit status when Signal is zero.
	Code int
	// Signal ended the command; zero when it exited by itself.
	Signal syscall.Signal
	Core   bool
	// Missing: the command was not found. NotExecutable: found but could not be
	// executed. Detail says what was tried and the error.
	Missing, NotExecutable bool
	Detail                 string
}

func (s Status) encode() []byte {
	data, _ := json.Marshal(s) // plain fields: cannot fail
	return data
}

// DecodeStatus reads the payload of MsgExit.
func DecodeStatus(data []byte) (s Status, err error) {
	err = json.Unmarshal(data, &s)
	return s, err
}
