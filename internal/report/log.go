package report

import (
	"strings"
	"sync"
	"time"

	"github.com/gosrt/gosrt/policy"
)

const (
	// keep bounds the distinct denials that a run remembers, whatever the
	// command tries; the oldest goes first.
	keep = 1000
	// maxRaw bounds one text before it is looked at: PATH_MAX of linux/limits.h.
	maxRaw = 4096
)

// Log collects the violations of one run. The same operation on the same target
// is one entry with a count. Use NewLog.
type Log struct {
	run    string
	redact *Redactor

	mu    sync.Mutex
	ring  []policy.Violation
	next  int // the oldest entry, once the ring is full
	index map[logKey]int
	seq   uint64
	total uint64
}

type logKey struct{ kind, operation, target string }

// NewLog returns a log that marks entries with the run's name and removes what
// redact knows.
func NewLog(run string, redact *Redactor) *Log { return &Log{run: run, redact: redact} }

// Add records v. For a new entry it returns what makes it fit to be shown, which
// is most of the work and not needed for one that a report has no room for; for
// a repetition it returns nil. It may be called from several goroutines, with
// text from inside.
func (l *Log) Add(v policy.Violation) (show func() policy.Violation) {
	v.Target, v.Operation = bounded(v.Target), bounded(v.Operation)
	key := logKey{v.Kind, v.Operation, v.Target}
	count := max(1, v.Count)
	l.mu.Lock()
	l.total += uint64(count)
	if i, seen := l.index[key]; seen {
		l.ring[i].Count += count
		l.mu.Unlock()
		return nil
	}
	l.seq++
	v.Run, v.Seq, v.Count = l.run, l.seq, count
	if v.Time.IsZero() {
		v.Time = time.Now()
	}
	l.insert(key, v)
	l.mu.Unlock()
	return func() policy.Violation { return l.shown(v) }
}

// insert takes the place of the oldest entry when there is no other.
func (l *Log) insert(key logKey, v policy.Violation) {
	if l.index == nil {
		l.index = map[logKey]int{}
	}
	if len(l.ring) < keep {
		l.index[key] = len(l.ring)
		l.ring = append(l.ring, v)
		return
	}
	old := l.ring[l.next]
	delete(l.index, logKey{old.Kind, old.Operation, old.Target})
	l.index[key], l.ring[l.next] = l.next, v
	l.next = (l.next + 1) % keep
}

// List returns the last entries in the order in which they first happened, fit
// to be shown, and how many denials and distinct ones there were in all.
func (l *Log) List() (list []policy.Violation, total, distinct uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.ring {
		list = append(list, l.shown(l.ring[(l.next+i)%len(l.ring)]))
	}
	return list, l.total, l.seq
}

// shown makes every text of v fit for a terminal and a report.
func (l *Log) shown(v policy.Violation) policy.Violation {
	for _, text := range []*string{&v.Operation, &v.Target, &v.Program, &v.Rule, &v.Origin, &v.Reason} {
		*text = l.redact.Line(*text)
	}
	// A cut or blackened hint is no command line any more.
	if hint := l.redact.Line(v.Hint); hint != v.Hint {
		v.Hint = ""
	}
	return v
}

func bounded(s string) string {
	if len(s) <= maxRaw {
		return s
	}
	return strings.Clone(s[:maxRaw])
}
