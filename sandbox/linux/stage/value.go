package stage

import (
	"encoding/json"
	"fmt"
	"time"
)

// Descriptors that the supervisor hands down through bwrap to the stage. The
// command receives none of them.
const (
	FDArgs    = 3 // bwrap --args
	FDControl = 4 // SOCK_SEQPACKET to the supervisor
	FDValue   = 5 // the Value
	FDSelf    = 6 // the supervisor's own executable
	FDStderr  = 7 // the command's standard error; descriptor 2 is bwrap's
	FDNext    = 8 // the first that is free for bwrap
)

// Word tells a process of this binary that it is the stage. It stands in
// os.Args[1], never in the environment, which the caller controls.
const Word = "gosrt-stage"

// Value is all that the stage receives: values, no policy to decide by.
type Value struct {
	Argv [][]byte // the command; bytes, since arguments need not be UTF-8
	Env  [][]byte
	Dir  []byte
	// Expect is what must be mounted where before the command may start.
	Expect []Expect
	// Writable are the places beneath which files may be opened for writing, for
	// Landlock; the mounts say the same.
	Writable [][]byte
	// Filter is the static seccomp filter, Notify the one whose calls the
	// supervisor answers; empty: none.
	Filter, Notify []Instruction
	// Grace is the time between SIGTERM and SIGKILL when a second SIGINT escalates.
	Grace time.Duration
}

// Expect is one mount that the stage verifies from inside. What was checked at
// compile time is thereby what is mounted, whoever renamed what in between.
type Expect struct {
	Dest []byte
	// Dev and Ino identify the file; both zero accept any file.
	Dev, Ino uint64
}

// Instruction is one classic BPF instruction, laid out as struct sock_filter of
// linux/filter.h.
type Instruction struct {
	Op     uint16
	Jt, Jf uint8
	K      uint32
}

// Encode returns the bytes to send down as FDValue.
func (v Value) Encode() ([]byte, error) { return json.Marshal(v) }

// Decode refuses a value without a command.
func Decode(data []byte) (Value, error) {
	var v Value
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("stage value: %v", err)
	}
	if len(v.Argv) == 0 {
		return v, fmt.Errorf("stage value: no command")
	}
	return v, nil
}
