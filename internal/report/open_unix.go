//go:build unix

package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Open opens what --report names, FILE or fd:N, before anything is started. A
// file is made or emptied. A link is not followed: an earlier run may have left
// it there to have a file outside overwritten.
func Open(dest string) (Sink, io.Closer, error) {
	if number, ok := strings.CutPrefix(dest, "fd:"); ok {
		return openDescriptor(number)
	}
	f, err := os.OpenFile(dest, os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("--report: %w", err)
	}
	if err = regular(f); err == nil {
		err = f.Truncate(0)
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("--report %q: %w", dest, err)
	}
	return Lines(f), f, nil
}

func regular(f *os.File) error {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	return err
}

func openDescriptor(number string) (Sink, io.Closer, error) {
	fd, err := strconv.Atoi(number)
	if err != nil || fd < 1 {
		return nil, nil, fmt.Errorf("--report %q: a descriptor is a number from 1", "fd:"+number)
	}
	mode, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || mode&unix.O_ACCMODE == unix.O_RDONLY {
		return nil, nil, fmt.Errorf("--report fd:%d: not open for writing", fd)
	}
	unix.CloseOnExec(fd)
	q := newQueue(Lines(os.NewFile(uintptr(fd), "report")))
	return q.sink, q, nil
}

const (
	queueLines = 4096
	// queueWait is how long the end of a run waits for a slow reader.
	queueWait = 2 * time.Second
)

// queue writes from a goroutine of its own: a reader that stopped reading its
// pipe must not hold up the command.
type queue struct {
	lines  chan []byte
	done   chan struct{}
	failed chan error
}

func newQueue(to Sink) *queue {
	q := &queue{make(chan []byte, queueLines), make(chan struct{}), make(chan error, 1)}
	go func() {
		defer close(q.done)
		for line := range q.lines {
			if err := to(line); err != nil {
				q.failed <- err
				return
			}
		}
	}()
	return q
}

func (q *queue) sink(line []byte) error {
	select {
	case err := <-q.failed:
		return err
	case q.lines <- append([]byte(nil), line...):
		return nil
	default:
		return errors.New("its reader does not keep up")
	}
}

// Close waits for what is queued, within bounds.
func (q *queue) Close() error {
	close(q.lines)
	select {
	case <-q.done:
		select {
		case err := <-q.failed: // since the last line was taken
			return err
		default:
			return nil
		}
	case <-time.After(queueWait):
		return errors.New("its reader does not keep up")
	}
}
