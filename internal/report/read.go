package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLineBytes bounds one line that is read back; a written one is far shorter.
const maxLineBytes = 1 << 20

// Record is one run read back from its lines. Violations hold each seq once, as
// its last line had it. Exit is nil while the run goes on or was killed.
type Record struct {
	Start      *Start
	Violations []Violation
	Decisions  []Decision
	Exit       *Exit
}

// Read reads the lines of one run. Unknown types of line are passed over, as a
// newer gosrt may have written them; a last line that is not whole yet, too.
func Read(r io.Reader) (Record, error) {
	var rec Record
	bySeq := map[uint64]int{}
	lines := newLineReader(r)
	for n := 1; ; n++ {
		line, whole, err := lines.next()
		if errors.Is(err, io.EOF) || err == nil && !whole {
			break
		}
		if err == nil {
			err = rec.add(line, bySeq)
		}
		if err != nil {
			return rec, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if rec.Start == nil {
		return rec, errors.New("not a report of gosrt: it has no start line")
	}
	return rec, nil
}

func (rec *Record) add(line []byte, bySeq map[uint64]int) error {
	var h head
	if err := json.Unmarshal(line, &h); err != nil {
		return errors.New("not a line of a report")
	}
	if h.V != Version {
		return fmt.Errorf("version %d: this gosrt reads %d", h.V, Version)
	}
	switch h.Type {
	case "start":
		if rec.Start != nil {
			return errors.New("a second run starts here; a report is of one")
		}
		rec.Start = new(Start)
		return json.Unmarshal(line, rec.Start)
	case "violation":
		var v Violation
		err := json.Unmarshal(line, &v)
		if i, seen := bySeq[v.Seq]; seen {
			rec.Violations[i] = v
			return err
		}
		bySeq[v.Seq] = len(rec.Violations)
		rec.Violations = append(rec.Violations, v)
		return err
	case "decision":
		var d Decision
		err := json.Unmarshal(line, &d)
		rec.Decisions = append(rec.Decisions, d)
		return err
	case "exit":
		rec.Exit = new(Exit)
		return json.Unmarshal(line, rec.Exit)
	}
	return nil
}
