package linux

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Action is what the kernel does with a call. The zero Action kills.
type Action int

const (
	Kill   Action = iota // the process dies of SIGSYS
	Refuse               // the call fails with the row's errno
	Notify               // the supervisor answers
	Pass                 // the call is let through
)

// Values that a filter returns, of linux/seccomp.h.
const (
	retKill   = 0x80000000
	retErrno  = 0x00050000
	retNotify = 0x7fc00000
	retAllow  = 0x7fff0000
)

// Errno is a Linux error number (asm-generic/errno.h; the same on both architectures).
type Errno uint16

const (
	ePERM           Errno = 1
	eNOSYS          Errno = 38
	ePROTONOSUPPORT Errno = 93
	eAFNOSUPPORT    Errno = 97
)

func (e Errno) String() string {
	switch e {
	case ePERM:
		return "EPERM"
	case eNOSYS:
		return "ENOSYS"
	case ePROTONOSUPPORT:
		return "EPROTONOSUPPORT"
	case eAFNOSUPPORT:
		return "EAFNOSUPPORT"
	}
	return fmt.Sprintf("errno %d", uint16(e))
}

// Op is the comparison of a Test.
type Op int

const (
	In    Op = iota // the argument, masked, is one of Values
	NotIn           // it is none of them
	Has             // one of the bits of Mask is set
	Set             // all 64 bits together are not zero: a pointer is given
)

// Test looks at one argument. Except for Set it sees the low 32 bits, because
// the kernel takes these arguments as int: what a caller puts above is ignored
// by both.
type Test struct {
	Arg    int // from 0
	Op     Op
	Mask   uint32 // zero means all bits
	Values []uint32
	Words  string // the test as people read it: "domain is AF_VSOCK"
}

// Row is one line of a filter's table. Rows of the same call are tried in
// order, and the first of which all tests hold decides; when none does, the
// call passes.
type Row struct {
	Call   string
	When   []Test // empty: always
	Action Action
	Errno  Errno // for Refuse
	Reason string
}

// Condition is what the tests say, in words; empty when the row always holds.
func (r Row) Condition() string {
	words := make([]string, len(r.When))
	for i, t := range r.When {
		words[i] = t.Words
	}
	return strings.Join(words, " and ")
}

func (r Row) value() uint32 {
	switch r.Action {
	case Refuse:
		return retErrno | uint32(r.Errno)
	case Notify:
		return retNotify
	case Pass:
		return retAllow
	}
	return retKill
}

// compile renders t: yes when it holds.
func (t Test) compile(yes, no block) block {
	load := Instruction{Op: opLoad, K: offLow(t.Arg)}
	switch t.Op {
	case Set:
		high := branch(opEqual, 0, no, yes).after(Instruction{Op: opLoad, K: offHigh(t.Arg)})
		return branch(opEqual, 0, high, yes).after(load)
	case Has:
		return branch(opBits, t.Mask, yes, no).after(load)
	case NotIn:
		yes, no = no, yes
	}
	if t.Mask == 0 {
		return oneOf(t.Values, yes, no).after(load)
	}
	return oneOf(t.Values, yes, no).after(load, Instruction{Op: opAnd, K: t.Mask})
}

// compile renders r with the code that runs when it does not hold.
func (r Row) compile(otherwise block) block {
	code := ret(r.value())
	for _, t := range slices.Backward(r.When) {
		code = t.compile(code, otherwise)
	}
	return code
}

// assemble renders a table. The architecture comes first: under another one the
// same numbers mean other calls, and its socketcall hides the family.
func assemble(rows []Row, a Arch) ([]Instruction, error) {
	if a.Audit == 0 {
		return nil, fmt.Errorf("architecture %q: no seccomp filter for it: use amd64 or arm64", a.Name)
	}
	leaves, err := leavesOf(rows, a)
	if err != nil {
		return nil, err
	}
	code := search(leaves, ret(retAllow))
	for _, f := range a.Foreign {
		code = code.after(killRange(f)...)
	}
	code = code.after(Instruction{Op: opLoad, K: offNumber})
	code = branch(opEqual, a.Audit, code, ret(retKill)).after(Instruction{Op: opLoad, K: offArch})
	const longest = 4096 // BPF_MAXINSNS
	if len(code) > longest {
		return nil, fmt.Errorf("BUG(gosrt): seccomp filter: %d instructions, the kernel takes %d", len(code), longest)
	}
	return code, nil
}

// leavesOf compiles the rows call by call, sorted by number. A call that the
// architecture does not have needs no row; a name that neither has is a mistake.
func leavesOf(rows []Row, a Arch) ([]leaf, error) {
	byCall := map[string][]Row{}
	for _, r := range rows {
		byCall[r.Call] = append(byCall[r.Call], r)
	}
	var leaves []leaf
	for call, list := range byCall {
		if !known(call) {
			return nil, fmt.Errorf("BUG(gosrt): seccomp filter: %q: no such call", call)
		}
		nr, ok := SyscallNumber(a, call)
		if !ok {
			continue
		}
		code := ret(retAllow)
		for _, r := range slices.Backward(list) {
			code = r.compile(code)
		}
		leaves = append(leaves, leaf{uint32(nr), code})
	}
	slices.SortFunc(leaves, func(x, y leaf) int { return cmp.Compare(x.number, y.number) })
	return leaves, nil
}

func known(call string) bool {
	return slices.ContainsFunc(syscalls, func(s struct {
		name         string
		amd64, arm64 int
	}) bool {
		return s.name == call
	})
}
