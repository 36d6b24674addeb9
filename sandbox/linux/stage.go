package linux

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/gosrt/gosrt/policy"
)

// Descriptors that the supervisor hands down through bwrap to the stage. The
// command receives none of them.
const (
	fdArgs    = 3 // bwrap --args
	fdControl = 4 // SOCK_SEQPACKET to the supervisor
	fdStage   = 5 // the Stage value
	fdSelf    = 6 // the supervisor's own executable
	fdStderr  = 7 // the command's standard error; descriptor 2 is bwrap's
	fdEmpty   = 8 // the first of the empty files for MountEmpty
)

// stageWord tells a process of this binary that it is the stage. It stands in
// os.Args[1], never in the environment, which the caller controls.
const stageWord = "gosrt-stage"

// Stage is all that the inner process receives: values, no policy to decide by.
type Stage struct {
	Argv [][]byte // the command; bytes, since arguments need not be UTF-8
	Env  [][]byte
	Dir  []byte
	// Expect is what must be mounted where before the command may start.
	Expect []Expect
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

// NewStage derives the stage's value from the plan.
func NewStage(p *policy.Plan) Stage {
	return Stage{
		Argv:   byteSlices(p.Argv),
		Env:    byteSlices(p.Env),
		Dir:    []byte(p.Dir),
		Expect: expectations(p.Mounts),
	}
}

// expectations lists the mounts that are still visible once all are in place: a
// later mount at or above a destination replaces it.
func expectations(mounts []policy.Mount) []Expect {
	var out []Expect
	later := map[string]bool{}
	for _, m := range slices.Backward(mounts) {
		if m.Kind == policy.MountRemountRO || m.Kind == policy.MountSymlink || buried(m.Dest, later) {
			continue
		}
		later[m.Dest] = true
		e := Expect{Dest: []byte(m.Dest)}
		if m.Kind == policy.MountBind || m.Kind == policy.MountROBind {
			e.Dev, e.Ino = m.Dev, m.Ino
		}
		out = append(out, e)
	}
	return out
}

// buried reports whether path or a directory above it is among dests.
func buried(p string, dests map[string]bool) bool {
	for {
		if dests[p] {
			return true
		}
		if p == "/" || p == "." {
			return false
		}
		p = path.Dir(p)
	}
}

func (s Stage) encode() ([]byte, error) { return json.Marshal(s) }

func decodeStage(data []byte) (Stage, error) {
	var s Stage
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("stage value: %v", err)
	}
	if len(s.Argv) == 0 {
		return s, fmt.Errorf("stage value: no command")
	}
	return s, nil
}

func byteSlices(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}
