package darwin

import (
	"bufio"
	"bytes"
	"errors"
)

// readyLine is how log(1) says that it follows.
const readyLine = "Filtering the log data using"

// readEvents reads lines of "log stream --style ndjson" to their end. ready is
// called once, when the stream stands; report for each denial of this run that
// is no noise. A line longer than the reader's buffer is dropped.
func readEvents(r *bufio.Reader, tag string, ready func(), report func(denial)) {
	following := false
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if dropLine(r) != nil {
				return
			}
			continue
		}
		line = bytes.TrimSpace(line)
		if !following && (bytes.HasPrefix(line, []byte(readyLine)) || bytes.HasPrefix(line, []byte("{"))) {
			following = true
			ready()
		}
		if d, ok := parseDenial(line, tag); ok && !d.isNoise() {
			report(d)
		}
		if err != nil {
			return
		}
	}
}

// dropLine reads on to the end of a line that did not fit.
func dropLine(r *bufio.Reader) error {
	for {
		_, err := r.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
