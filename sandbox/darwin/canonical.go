package darwin

import (
	"path"
	"strings"
)

// dataVolume is where the writable half of the system volume is mounted.
const dataVolume = "/System/Volumes/Data"

// firmlinks join the data volume into the root (/usr/share/firmlinks of macOS
// 14 and 15). The kernel reports the joined spelling, realpath(3) keeps the
// other one, and a filter that holds the other one never matches.
var firmlinks = []string{
	"/AppleInternal",
	"/Applications",
	"/Library",
	"/System/Library/Assets",
	"/System/Library/AssetsV2",
	"/System/Library/Caches",
	"/System/Library/CoreServices/CoreTypes.bundle/Contents/Library",
	"/System/Library/PreinstalledAssets",
	"/System/Library/PreinstalledAssetsV2",
	"/System/Library/Speech",
	"/Users",
	"/Volumes",
	"/cores",
	"/opt",
	"/private",
	"/usr/libexec/cups",
	"/usr/local",
	"/usr/share/snmp",
}

// systemLinks are the links that every macOS has at its root.
var systemLinks = map[string]string{
	"/etc": "/private/etc",
	"/tmp": "/private/tmp",
	"/var": "/private/var",
}

// canonical spells p as the kernel does, as far as that can be known without
// the disk: firmlinks joined, the system's own links followed.
func canonical(p string) string {
	if rest, ok := strings.CutPrefix(p, dataVolume); ok {
		for _, f := range firmlinks {
			if within(rest, f) {
				p = rest
				break
			}
		}
	}
	for from, to := range systemLinks {
		if within(p, from) {
			return to + p[len(from):]
		}
	}
	return p
}

// within says whether p is dir or beneath it.
func within(p, dir string) bool {
	if dir == "/" {
		return strings.HasPrefix(p, "/")
	}
	return p == dir || len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir
}

// depth is the number of components of p; the root has none.
func depth(p string) int {
	if p == "/" {
		return 0
	}
	return strings.Count(p, "/")
}

// ancestors lists the strict ancestors of p up to and including top, deepest
// first. p must be beneath top.
func ancestors(p, top string) []string {
	var out []string
	for p != top && p != "/" {
		p = path.Dir(p)
		out = append(out, p)
	}
	return out
}
