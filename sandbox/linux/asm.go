package linux

import (
	"slices"

	"github.com/gosrt/gosrt/sandbox/linux/stage"
)

// Instruction is one classic BPF instruction.
type Instruction = stage.Instruction

// Opcodes of linux/bpf_common.h, those that seccomp accepts and gosrt uses.
const (
	opLoad    = 0x20 // BPF_LD|BPF_W|BPF_ABS
	opAnd     = 0x54 // BPF_ALU|BPF_AND|BPF_K
	opJump    = 0x05 // BPF_JMP|BPF_JA
	opEqual   = 0x15 // BPF_JMP|BPF_JEQ|BPF_K
	opAtLeast = 0x35 // BPF_JMP|BPF_JGE|BPF_K
	opBits    = 0x45 // BPF_JMP|BPF_JSET|BPF_K
	opReturn  = 0x06 // BPF_RET|BPF_K
)

// Offsets in struct seccomp_data of linux/seccomp.h. Both architectures are
// little endian, so the low half of an argument comes first.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

func offLow(arg int) uint32  { return uint32(offArgs + 8*arg) }
func offHigh(arg int) uint32 { return offLow(arg) + 4 }

// block is code of which every path ends in a return, so blocks are joined
// without labels: a jump only ever crosses a whole block.
type block []Instruction

func ret(value uint32) block { return block{{Op: opReturn, K: value}} }

// after puts straight-line code in front of a block.
func (b block) after(code ...Instruction) block { return append(slices.Clip(code), b...) }

// branch runs yes when the comparison holds and no otherwise. A conditional
// jump reaches 255 instructions; a longer way goes through an unconditional one.
func branch(op uint16, k uint32, yes, no block) block {
	const reach = 255
	var head block
	switch {
	case slices.Equal(yes, no):
		return yes
	case len(yes) <= reach:
		head = block{{Op: op, Jf: uint8(len(yes)), K: k}}
	default:
		head = block{{Op: op, Jt: 1, K: k}, {Op: opJump, K: uint32(len(yes))}}
	}
	return slices.Concat(head, yes, no)
}

// oneOf runs yes when the accumulator equals one of the values, of which there
// are few.
func oneOf(values []uint32, yes, no block) block {
	if len(values) == 1 {
		return branch(opEqual, values[0], yes, no)
	}
	var head block
	for i, v := range values {
		head = append(head, Instruction{Op: opEqual, Jt: uint8(len(values) - i), K: v})
	}
	head = append(head, Instruction{Op: opJump, K: uint32(len(yes))})
	return slices.Concat(head, yes, no)
}

// killRange is straight-line code: a number in the range ends the process, any
// other goes on.
func killRange(r NumberRange) []Instruction {
	return []Instruction{
		{Op: opAtLeast, Jf: 2, K: r.First},
		{Op: opAtLeast, Jt: 1, K: r.Last + 1},
		{Op: opReturn, K: retKill},
	}
}

// leaf is the code for one system call.
type leaf struct {
	number uint32
	code   block
}

// search finds the number in the accumulator among leaves sorted by number, by
// halving, so that a call costs the logarithm of the table.
func search(leaves []leaf, otherwise block) block {
	switch len(leaves) {
	case 0:
		return otherwise
	case 1:
		return branch(opEqual, leaves[0].number, leaves[0].code, otherwise)
	}
	half := len(leaves) / 2
	return branch(opAtLeast, leaves[half].number,
		search(leaves[half:], otherwise), search(leaves[:half], otherwise))
}
