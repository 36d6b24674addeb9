package policytest

import (
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// View is what a list of mounts shows, as the kernel would: on each path the
// last mount at or above it counts, and a bind shows the host's tree without the
// mounts made before it.
type View struct{ mounts []policy.Mount }

// NewView reads a plan's mounts.
func NewView(mounts []policy.Mount) View { return View{mounts} }

// top is the mount that path is looked up in.
func (v View) top(path string) (policy.Mount, bool) {
	for i := len(v.mounts) - 1; i >= 0; i-- {
		if m := v.mounts[i]; m.Kind != policy.MountRemountRO && within(m.Dest, path) {
			return m, true
		}
	}
	return policy.Mount{}, false
}

// Shows says that path is the host's, or the cover of the host's.
func (v View) Shows(path string) bool {
	m, ok := v.top(path)
	return ok && m.Kind != policy.MountTmpfs && m.Kind != policy.MountProc && m.Kind != policy.MountDev
}

// Reads says that path can be opened for reading.
func (v View) Reads(path string) bool {
	m, ok := v.top(path)
	switch {
	case !ok:
		return false
	case m.Kind == policy.MountHide && m.Dir && m.Perms != 0:
		return v.leadsOn(path)
	case m.Kind == policy.MountHide, m.Kind == policy.MountEmpty:
		return false
	}
	return true
}

// leadsOn says that path, inside a cover, is a directory on the way to a mount.
func (v View) leadsOn(path string) bool {
	for _, m := range v.mounts {
		if m.Kind != policy.MountRemountRO && m.Dest != path && within(path, m.Dest) && v.stands(m) {
			return true
		}
	}
	return false
}

// stands says that a mount is not covered by a later one above it.
func (v View) stands(m policy.Mount) bool {
	top, _ := v.top(m.Dest)
	return top.Dest == m.Dest && (top.Kind == policy.MountBind || top.Kind == policy.MountROBind)
}

// Writes says that path can be written.
func (v View) Writes(path string) bool {
	m, ok := v.top(path)
	return ok && (m.Kind == policy.MountBind || m.Kind == policy.MountTmpfs)
}

// Pinned says that path is a mount point in some layer, so that the kernel
// refuses to rename or remove it.
func (v View) Pinned(path string) bool {
	pinned := false
	for _, m := range v.mounts {
		if m.Kind == policy.MountRemountRO {
			continue
		}
		switch m.Dest {
		case path:
			pinned = true
		case "/": // what lies under bwrap's root does not outlive its pivot_root
			pinned = false
		}
	}
	return pinned
}

func within(dir, path string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
