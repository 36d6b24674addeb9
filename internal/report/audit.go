package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The audit log: lines of reports, each with the SHA-256 of the whole line before
// it. Who changes, inserts or removes a line breaks the next one. What a chain
// cannot show is that lines are missing at its end; whoever needs that keeps the
// last hash elsewhere.

// chained is one line of an audit log.
type chained struct {
	Prev  string          `json:"prev"` // hex; empty in the first line
	Event json.RawMessage `json:"event"`
}

// chain returns the line that follows after in the log.
func chain(after string, event []byte) (line []byte, err error) {
	return json.Marshal(chained{after, event})
}

func hashOf(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// BrokenError says where a chain breaks.
type BrokenError struct {
	Line int // 1-based
	Msg  string
}

func (e *BrokenError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// Verify follows the chain and returns how many lines hold and the last one's
// hash. The error is a *BrokenError for the first line that does not.
func Verify(r io.Reader) (lines int, last string, err error) {
	scan := newLineReader(r)
	for {
		line, whole, err := scan.next()
		if errors.Is(err, io.EOF) {
			return lines, last, nil
		}
		if err != nil {
			return lines, last, err
		}
		var c chained
		switch {
		case !whole:
			return lines, last, &BrokenError{lines + 1, "not whole"}
		case strict(line, &c) != nil:
			return lines, last, &BrokenError{lines + 1, "not a line of an audit log"}
		case c.Prev != last:
			return lines, last, &BrokenError{lines + 1, "does not follow the line before it"}
		}
		lines, last = lines+1, hashOf(line)
	}
}

func strict(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// lastLine is the last line of a log's tail; it must be one of an audit log.
func lastLine(tail []byte) ([]byte, error) {
	body, whole := bytes.CutSuffix(tail, []byte("\n"))
	line := body[bytes.LastIndexByte(body, '\n')+1:]
	if !whole || strict(line, new(chained)) != nil {
		return nil, errors.New("its last line is not one of an audit log: see gosrt audit verify")
	}
	return line, nil
}
