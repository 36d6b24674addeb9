package stage

import (
	"errors"
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

// maxMessage is far above any payload (error texts are cut) and below the
// default socket buffer (net.core.wmem_default, 212992).
const maxMessage = 16 << 10

// Value is all that the stage receives: values, no policy to decide by.
type Value struct {
	Argv []string // the command; any bytes but NUL
	Env  []string
	Dir  string
	// Expect is what must be mounted where before the command may start.
	Expect []Expect
	// Later are those that the supervisor makes itself before MsgReady, in the
	// mount namespace that the stage sends it.
	Later []Expect
	// Writable are the places beneath which files may be opened for writing, for
	// Landlock; the mounts say the same.
	Writable []string
	// Filter is the static seccomp filter, Notify the one whose calls the
	// supervisor answers; empty: none.
	Filter, Notify []Instruction
	// Grace is the time between SIGTERM and SIGKILL when a second SIGINT escalates.
	Grace time.Duration
}

// Expect is one mount that the stage verifies from inside. What was checked at
// compile time is thereby what is mounted, whoever renamed what in between.
type Expect struct {
	Dest string
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
func (v Value) Encode() []byte {
	var w writer
	writeList(&w, v.Argv, w.text)
	writeList(&w, v.Env, w.text)
	w.text(v.Dir)
	writeList(&w, v.Expect, w.expect)
	writeList(&w, v.Later, w.expect)
	writeList(&w, v.Writable, w.text)
	writeList(&w, v.Filter, w.instruction)
	writeList(&w, v.Notify, w.instruction)
	w.number(uint64(v.Grace))
	return w
}

// Decode refuses a value that is not whole, and one without a command.
func Decode(data []byte) (Value, error) {
	r := reader{rest: data}
	v := Value{
		Argv:     readList(&r, r.text),
		Env:      readList(&r, r.text),
		Dir:      r.text(),
		Expect:   readList(&r, r.expect),
		Later:    readList(&r, r.expect),
		Writable: readList(&r, r.text),
		Filter:   readList(&r, r.instruction),
		Notify:   readList(&r, r.instruction),
		Grace:    time.Duration(r.number()),
	}
	if err := r.end(); err != nil {
		return Value{}, fmt.Errorf("stage value: %w", err)
	}
	if len(v.Argv) == 0 {
		return Value{}, errors.New("stage value: no command")
	}
	return v, nil
}

func (w *writer) expect(e Expect) {
	w.text(e.Dest)
	w.number(e.Dev)
	w.number(e.Ino)
}

func (r *reader) expect() Expect {
	return Expect{Dest: r.text(), Dev: r.number(), Ino: r.number()}
}

func (w *writer) instruction(i Instruction) {
	w.number(uint64(i.Op)<<48 | uint64(i.Jt)<<40 | uint64(i.Jf)<<32 | uint64(i.K))
}

func (r *reader) instruction() Instruction {
	n := r.number()
	return Instruction{Op: uint16(n >> 48), Jt: uint8(n >> 40), Jf: uint8(n >> 32), K: uint32(n)}
}
