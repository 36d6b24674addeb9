package main

import (
	"slices"
	"sync"

	"github.com/gosrt/gosrt/policy"
)

// maxDenials bounds what one run remembers, whatever the command tries.
const maxDenials = 1000

// denials collects the violations of one run. The same operation on the same
// target is one entry with a count. The zero value is ready.
type denials struct {
	mu      sync.Mutex
	entries []policy.Violation
	index   map[denialKey]int
	dropped int // distinct ones beyond maxDenials
}

type denialKey struct{ kind, operation, target string }

// add may be called from several goroutines.
func (d *denials) add(v policy.Violation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := denialKey{v.Kind, v.Operation, v.Target}
	if i, seen := d.index[key]; seen {
		d.entries[i].Count += max(1, v.Count)
		return
	}
	if len(d.entries) == maxDenials {
		d.dropped++
		return
	}
	if d.index == nil {
		d.index = map[denialKey]int{}
	}
	v.Count = max(1, v.Count)
	d.index[key] = len(d.entries)
	d.entries = append(d.entries, v)
}

// list returns the entries in the order they first happened, and how many
// further ones were not kept.
func (d *denials) list() ([]policy.Violation, int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.entries), d.dropped
}
