package linux

import (
	"slices"

	"github.com/gosrt/gosrt/policy"
)

// Many covers. For each mount bwrap reads the whole table of mounts, so its time
// grows with the square of their number: 0.04 s for 64 covered files, 28 s for
// 2000, and it takes no more than 9000 words. So when a pattern matches many
// files, the supervisor covers them, in the finished mount namespace and before
// the command starts.
//
// The namespace belongs to a user namespace that the caller made, through bwrap,
// and in which the caller therefore has every capability (user_namespaces(7)).
// The command has none there, as with bwrap's own mounts: it cannot unmount what
// covers a file, nor rename or remove the file below it. The stage verifies these
// mounts like all others.

// manyCovers is from where on bwrap costs more than a fork of the supervisor.
const manyCovers = 64

// splitCovers takes the covers of files out of the mounts when they are many. A
// file has nothing mounted beneath it, so the end is as good a place for them. Covers are sorted.
func splitCovers(mounts []policy.Mount) (rest []policy.Mount, covers []string) {
	for _, m := range mounts {
		if m.Kind == policy.MountHide && !m.Dir {
			covers = append(covers, m.Dest)
		} else {
			rest = append(rest, m)
		}
	}
	if len(covers) <= manyCovers {
		return mounts, nil
	}
	slices.Sort(covers)
	return rest, covers
}
