package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox"
)

// adviser turns a denial's hint into what the user can paste: a preset that is
// made for it, else the one path or host. What may not open has no hint.
type adviser struct {
	home    string
	presets []presetHosts
}

// presetHosts is what one preset lets a command reach.
type presetHosts struct {
	name    string
	network policy.Network
}

// newAdviser reads the presets, which takes about a millisecond: it is made only
// when there is something to print.
func newAdviser(c *sandbox.Cmd) adviser {
	here := surroundings{Home: homeOf(c.Env)}
	return adviser{home: here.Home, presets: hostPresets(here.vars())}
}

// hostPresets lists the presets that open hosts, the smallest first.
func hostPresets(vars policy.Vars) []presetHosts {
	var list []presetHosts
	for _, name := range policy.PresetNames() {
		text, _ := policy.PresetText(name)
		p, err := policy.ParseTOML(policy.Source{Layer: policy.LayerPreset, Name: name, Data: text, Base: "/"}, vars)
		if err == nil && len(p.Network.Allowed) > 0 {
			list = append(list, presetHosts{name, p.Network})
		}
	}
	slices.SortStableFunc(list, func(a, b presetHosts) int { return len(a.network.Allowed) - len(b.network.Allowed) })
	return list
}

// hint is what to add to the command line; empty when nothing may open it.
func (a adviser) hint(v policy.Violation) string {
	switch {
	case v.Hint == "":
		return ""
	case v.Kind == "connect":
		if name := a.presetFor(v.Target); name != "" {
			return "--preset " + name
		}
	case strings.HasPrefix(v.Hint, "--allow-write ") && !exists(v.Target):
		return a.makeFirst(v)
	}
	return v.Hint
}

// presetFor is the smallest preset that lets dest be reached; "" when none does.
func (a adviser) presetFor(dest string) string {
	h, err := policy.ParseHostPort(dest)
	if err != nil {
		return ""
	}
	for _, p := range a.presets {
		if p.network.Decide(h).Verdict == policy.Allow {
			return p.name
		}
	}
	return ""
}

// makeFirst advises on a path that is not there yet, which cannot be opened by
// itself: the directory that is to hold it when that is the project's own kind
// of place and no rule names the path, else to make it.
func (a adviser) makeFirst(v policy.Violation) string {
	parent := filepath.Dir(v.Target)
	make := "touch "
	if strings.HasPrefix(v.Operation, "mkdir") {
		make = "mkdir -p "
	}
	if v.Rule == "" && a.narrow(parent) { // a rule for the name itself stands beneath it
		return "--allow-write " + quoteWord(parent)
	}
	if !exists(parent) {
		make = "mkdir -p " + quoteWord(parent) + " && " + make
	}
	word := quoteWord(v.Target)
	return make + word + ", then add --allow-write " + word
}

// narrow says that a directory is one that may be opened as a whole: it exists,
// and it is neither a home nor one that many programs share.
func (a adviser) narrow(dir string) bool {
	shared := []string{a.home, filepath.Join(a.home, ".config"), filepath.Join(a.home, ".local/share"), filepath.Join(a.home, ".cache"), "/var/tmp"}
	deep := strings.Count(dir, "/") > 2
	return exists(dir) && deep && !slices.Contains(shared, dir) && !strings.HasPrefix(dir, "/etc/")
}
