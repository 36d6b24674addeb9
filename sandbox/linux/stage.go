package linux

import (
	"path"
	"slices"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux/stage"
)

// fdEmpty is the first of the empty files for MountEmpty, after the stage's own
// descriptors. bwrap reads them; the stage receives none.
const fdEmpty = stage.FDNext

// NewStage derives the stage's value from the plan.
func NewStage(p *policy.Plan) stage.Value {
	v := stage.Value{
		Argv:     p.Argv,
		Env:      p.Env,
		Dir:      p.Dir,
		Writable: writable(p.Mounts),
	}
	_, covers := splitCovers(p.Mounts)
	for _, e := range expectations(p.Mounts) {
		if _, later := slices.BinarySearch(covers, e.Dest); later {
			v.Later = append(v.Later, e)
		} else {
			v.Expect = append(v.Expect, e)
		}
	}
	return v
}

// writable lists where the mounts let the command write. Read-only places inside
// them stay the mounts' business.
func writable(mounts []policy.Mount) []string {
	var out []string
	for _, m := range mounts {
		switch m.Kind {
		case policy.MountBind, policy.MountTmpfs, policy.MountDev, policy.MountProc:
			out = append(out, m.Dest)
		}
	}
	return out
}

// expectations lists the mounts that are still visible once all are in place: a
// later mount at or above a destination replaces it.
func expectations(mounts []policy.Mount) []stage.Expect {
	var out []stage.Expect
	later := map[string]bool{}
	for _, m := range slices.Backward(mounts) {
		if m.Kind == policy.MountRemountRO || m.Kind == policy.MountSymlink || buried(m.Dest, later) {
			continue
		}
		later[m.Dest] = true
		e := stage.Expect{Dest: m.Dest}
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
