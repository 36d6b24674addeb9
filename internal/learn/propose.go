package learn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// Facts are what a proposal is made from beside the denials.
type Facts struct {
	Home string // absolute; empty: none
	// Exists says whether there is something at a path, and whether it is a
	// directory.
	Exists func(path string) (there, dir bool)
	// Closed says why a path must stay closed for writing even inside a write
	// root: hidden, or protected. Empty: it may open.
	Closed func(path string) string
	// Presets are those that open hosts, the smallest first.
	Presets []Preset
}

// Preset is what one preset opens.
type Preset struct {
	Name    string
	Network policy.Network
}

// Lists of a policy file that entries go to.
const (
	Extends = "extends"
	Writes  = "filesystem.allowWrite"
	Hosts   = "network.allowedDomains"
	Sockets = "network.allowUnixSockets"
)

// Entry is one line of the proposal.
type Entry struct {
	List   string
	Value  string
	Reason string // who needed it, for what
}

// Left is a denial that nothing is proposed for.
type Left struct {
	Denial policy.Violation
	Why    string
}

// Propose returns the entries in the order of a file, each once, and what is left.
func Propose(denials []policy.Violation, f Facts) (entries []Entry, left []Left) {
	var writes []need
	for _, v := range denials {
		entry, why := Entry{}, ""
		switch v.Kind {
		case "connect":
			entry, why = f.host(v)
		case "write":
			var n need
			if n, why = f.write(v); why == "" {
				writes = append(writes, n)
				continue
			}
		case "socket":
			entry, why = f.socket(v)
		default:
			why = "no rule opens it"
		}
		if why != "" {
			left = append(left, Left{v, why})
			continue
		}
		entries = append(entries, entry)
	}
	entries = slices.Concat(entries, f.mergeWrites(writes))
	return unique(f.siblings(entries)), left
}

var listOrder = []string{Extends, Writes, Hosts, Sockets}

// unique sorts by list and value, and keeps the first reason of equal entries.
func unique(entries []Entry) []Entry {
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(slices.Index(listOrder, a.List), slices.Index(listOrder, b.List)), cmp.Compare(a.Value, b.Value))
	})
	return slices.CompactFunc(entries, func(a, b Entry) bool { return a.List == b.List && a.Value == b.Value })
}

// Minimal drops entries that a wider one, learned in a later round, covers.
func Minimal(entries []Entry) []Entry {
	return slices.DeleteFunc(unique(slices.Clone(entries)), func(e Entry) bool {
		return slices.ContainsFunc(entries, func(o Entry) bool {
			return o.List == e.List && o.Value != e.Value && e.List == Writes && within(o.Value, e.Value)
		})
	})
}

// reason is "node: openat ~/x, 3 times".
func reason(v policy.Violation, target string) string {
	text := v.Operation + " " + target
	if v.Program != "" {
		text = v.Program + ": " + text
	}
	if v.Count > 1 {
		text += fmt.Sprintf(", %d times", v.Count)
	}
	return text
}

// host proposes a preset that is made for the destination, else its name. A
// denial by a rule is somebody's will; only what no rule mentions may open.
func (f Facts) host(v policy.Violation) (Entry, string) {
	h, err := policy.ParseHostPort(v.Target)
	switch {
	case err != nil:
		return Entry{}, "not a destination that can be named"
	case v.Rule != "":
		return Entry{}, "denied by a rule: " + v.Rule
	case v.Hint == "":
		return Entry{}, v.Reason
	}
	for _, p := range f.Presets {
		if p.Network.Decide(h).Verdict == policy.Allow {
			return Entry{Extends, p.Name, reason(v, v.Target)}, ""
		}
	}
	value := h.String()
	if h.Port == 80 || h.Port == 443 {
		value = h.Name()
	}
	return Entry{Hosts, value, reason(v, v.Target)}, ""
}

func (f Facts) socket(v policy.Violation) (Entry, string) {
	if v.Rule != "" || v.Hint == "" {
		return Entry{}, cmp.Or(v.Rule, v.Reason)
	}
	if there, _ := f.Exists(v.Target); !there {
		return Entry{}, "there is no such socket"
	}
	return Entry{Sockets, f.spell(v.Target), reason(v, v.Target)}, ""
}

// enough is from how many names below one domain the domain is proposed.
const enough = 4

// siblings replaces many names below one domain by the domain.
func (f Facts) siblings(entries []Entry) []Entry {
	below := map[string]int{}
	for _, e := range entries {
		if domain := domainOf(e); domain != "" {
			below[domain]++
		}
	}
	for i, e := range entries {
		if domain := domainOf(e); below[domain] >= enough {
			entries[i].Value, entries[i].Reason = "*."+domain, fmt.Sprintf("%d names below it", below[domain])
		}
	}
	return entries
}

// domainOf is the domain that a host entry could be generalised to: one that the
// policy takes as a pattern, so never a public suffix.
func domainOf(e Entry) string {
	_, domain, ok := strings.Cut(e.Value, ".")
	if e.List != Hosts || !ok || strings.Contains(e.Value, ":") {
		return ""
	}
	if p, err := policy.ParseHostPattern("*." + domain); err != nil || !p.Sub {
		return ""
	}
	return domain
}

// spell writes a path as a user would.
func (f Facts) spell(path string) string {
	if f.Home != "" && f.Home != "/" && strings.HasPrefix(path, f.Home+"/") {
		return "~" + path[len(f.Home):]
	}
	return path
}
