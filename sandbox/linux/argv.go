package linux

import (
	"fmt"
	"strconv"

	"github.com/gosrt/gosrt/policy"
)

// Features are options that only some bwrap releases know.
type Features struct {
	DisableUserns bool // --disable-userns, bubblewrap 0.8.0
}

// Argv renders the plan as bwrap's options, without the program name and
// without "--" and what follows it.
func Argv(p *policy.Plan, f Features) []string {
	args := namespaceArgs(f)
	empty := fdEmpty
	for _, m := range p.Mounts {
		if m.Kind == policy.MountEmpty {
			args = append(args, "--ro-bind-data", strconv.Itoa(empty), m.Dest)
			empty++ // bwrap closes each descriptor after use
			continue
		}
		args = append(args, mountArgs(m)...)
	}
	return args
}

// emptyFiles is how many descriptors of empty files Argv refers to, from fdEmpty up.
func emptyFiles(mounts []policy.Mount) int {
	n := 0
	for _, m := range mounts {
		if m.Kind == policy.MountEmpty {
			n++
		}
	}
	return n
}

// namespaceArgs are the options that do not depend on the policy. --unshare-user
// is explicit because bwrap makes no user namespace for root by itself, and
// --as-pid-1 because bwrap's own reaper would keep an unfiltered process, with
// the caller's environment in its memory, inside.
func namespaceArgs(f Features) []string {
	args := []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--unshare-net",
		"--die-with-parent", "--as-pid-1", "--cap-drop", "ALL",
	}
	if f.DisableUserns {
		args = append(args, "--disable-userns")
	}
	return args
}

func mountArgs(m policy.Mount) []string {
	switch m.Kind {
	case policy.MountBind, policy.MountROBind:
		return []string{"--" + string(m.Kind), m.Source, m.Dest}
	case policy.MountSymlink:
		return []string{"--symlink", m.Source, m.Dest}
	case policy.MountTmpfs:
		return []string{"--perms", octal(m.Perms), "--tmpfs", m.Dest}
	case policy.MountHide:
		if m.Dir {
			return []string{"--perms", octal(m.Perms), "--tmpfs", m.Dest}
		}
		// bwrap's binds are nodev, so opening the device answers EACCES to
		// everybody, root included, while stat of it works.
		return []string{"--ro-bind", "/dev/null", m.Dest}
	case policy.MountDev, policy.MountProc, policy.MountRemountRO:
		return []string{"--" + string(m.Kind), m.Dest}
	}
	panic(fmt.Sprintf("BUG(gosrt): mount kind %q has no rendering", m.Kind))
}

func octal(perms uint32) string { return fmt.Sprintf("%04o", perms) }
