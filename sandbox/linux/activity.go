package linux

import (
	"slices"
	"sync"
	"time"
)

// activity remembers when a command was making names, so that what appears can be
// told from what a program outside makes. The zero value is ready.
type activity struct {
	mu    sync.Mutex
	spans []span // in order of time, further apart than activityGap
}

// span is from the first to the last call of a busy time.
type span struct{ from, to time.Time }

const (
	// activityGap is how long after it was let through a call may take effect. It
	// takes microseconds, unless the machine is busy.
	activityGap = 100 * time.Millisecond
	// stampLag is how far the clock of inodes can be behind: a tick at 100 Hz.
	stampLag = 10 * time.Millisecond
	// maxSpans bounds the memory of a long run; older times count as busy.
	maxSpans = 1 << 12
)

func (a *activity) note(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.spans)
	if n > 0 && now.Sub(a.spans[n-1].to) <= activityGap {
		a.spans[n-1].to = now
		return
	}
	if n == maxSpans {
		a.spans[1].from = a.spans[0].from
		a.spans = slices.Delete(a.spans, 0, 1)
	}
	a.spans = append(a.spans, span{now, now})
}

// covers says that a name which appeared at t can be the command's.
func (a *activity) covers(t time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.spans, func(s span) bool {
		return !t.Before(s.from.Add(-stampLag)) && !t.After(s.to.Add(activityGap))
	})
}
