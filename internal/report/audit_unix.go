//go:build unix

package report

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// OpenAudit opens or makes the audit log at path for appending, and refuses one
// whose chain is broken at its end. Several runs may append to it.
func OpenAudit(path string) (Sink, io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("audit log: %w", err)
	}
	if err := regular(f); err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("audit log %q: %w", path, err)
	}
	log := &auditLog{file: f}
	if err := log.locked(log.catchUp); err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("audit log %q: %w", path, err)
	}
	return log.append, f, nil
}

// auditLog remembers the end of the chain, so that the file is read again only
// when another run has appended to it.
type auditLog struct {
	file *os.File
	size int64
	last string
}

func (a *auditLog) append(event []byte) error {
	return a.locked(func() error {
		if err := a.catchUp(); err != nil {
			return err
		}
		line, err := chain(a.last, event)
		if err != nil {
			return err
		}
		n, err := a.file.Write(append(line, '\n'))
		if err != nil {
			return errors.Join(err, a.file.Truncate(a.size)) // half a line would break the chain
		}
		a.size, a.last = a.size+int64(n), hashOf(line)
		return nil
	})
}

func (a *auditLog) locked(do func() error) error {
	fd := int(a.file.Fd())
	if err := unix.Flock(fd, unix.LOCK_EX); err != nil {
		return err
	}
	defer unix.Flock(fd, unix.LOCK_UN)
	return do()
}

// catchUp reads the last line, unless it is the one that is remembered.
func (a *auditLog) catchUp() error {
	info, err := a.file.Stat()
	if err != nil || info.Size() == a.size {
		return err
	}
	tail := make([]byte, min(info.Size(), maxLineBytes))
	if _, err := a.file.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return err
	}
	line, err := lastLine(tail)
	if err != nil {
		return err
	}
	a.size, a.last = info.Size(), hashOf(line)
	return nil
}
