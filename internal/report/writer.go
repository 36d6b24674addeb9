package report

import (
	"encoding/json"
	"io"
	"slices"
	"sync"

	"github.com/gosrt/gosrt/policy"
)

// maxLines bounds the lines of one kind in a report, so that a command cannot
// fill the disk with what it is refused.
const maxLines = 10_000

// Sink takes one line, without its newline, and neither keeps nor changes it.
type Sink func(line []byte) error

// Lines writes each line and its newline in one call.
func Lines(w io.Writer) Sink {
	return func(line []byte) error {
		_, err := w.Write(append(slices.Clip(line), '\n'))
		return err
	}
}

// Writer writes the lines of one run to every sink. A sink that fails is told of
// once and left alone from then on: a full disk loses lines, never the command.
type Writer struct {
	Run    string
	Failed func(error) // told of each sink's first failure; nil: nobody is

	mu      sync.Mutex
	sinks   []Sink
	started bool
	early   [][]byte // lines of what happened before Start was called
	written map[string]int
	dropped uint64
}

// Add makes s receive the lines that follow.
func (w *Writer) Add(s Sink) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sinks = append(w.sinks, s)
}

// Start writes the first line, and then what has happened since.
func (w *Writer) Start(e Start) {
	e.head, e.Run = w.head("start"), w.Run
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started = true
	w.write(marshal(e))
	for _, line := range w.early {
		w.write(line)
	}
	w.early = nil
}

// Violation writes a denial that Log.Add returned.
func (w *Writer) Violation(show func() policy.Violation) {
	if w.room("violation") {
		w.line(Violation{w.head("violation"), show(), "deny"})
	}
}

// Repeated writes denials again whose count has grown.
func (w *Writer) Repeated(list []policy.Violation) {
	for _, v := range list {
		if v.Count > 1 {
			w.line(Violation{w.head("violation"), v, "deny"})
		}
	}
}

// Decision writes an ended connection.
func (w *Writer) Decision(e Decision) {
	if w.room("decision") {
		e.head, e.Run = w.head("decision"), w.Run
		w.line(e)
	}
}

// Exit writes the last line.
func (w *Writer) Exit(e Exit) {
	w.mu.Lock()
	e.NotRecorded = w.dropped
	w.mu.Unlock()
	e.head, e.Run = w.head("exit"), w.Run
	w.line(e)
}

func (w *Writer) head(kind string) head { return head{Version, kind} }

// room counts a line of a kind that the command can cause at will.
func (w *Writer) room(kind string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.written == nil {
		w.written = map[string]int{}
	}
	if w.written[kind] == maxLines {
		w.dropped++
		return false
	}
	w.written[kind]++
	return true
}

func (w *Writer) line(event any) {
	text := marshal(event)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.started {
		w.early = append(w.early, text)
		return
	}
	w.write(text)
}

func (w *Writer) write(text []byte) {
	kept := w.sinks[:0]
	for _, sink := range w.sinks {
		if err := sink(text); err == nil {
			kept = append(kept, sink)
		} else if w.Failed != nil {
			w.Failed(err)
		}
	}
	w.sinks = kept
}

func marshal(event any) []byte {
	text, err := json.Marshal(event)
	if err != nil {
		panic("BUG(gosrt): report line: " + err.Error()) // plain fields cannot fail
	}
	return text
}
