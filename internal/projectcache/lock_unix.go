//go:build unix

package projectcache

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

type mode int

const (
	shared    mode = unix.LOCK_SH
	exclusive mode = unix.LOCK_EX
)

// lock takes a flock(2) on path without waiting. The kernel drops it when the
// process ends, however it ends.
func lock(path string, m mode) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), int(m)|unix.LOCK_NB)
	if err == nil {
		return func() { f.Close() }, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, ErrInUse
	}
	return nil, fmt.Errorf("lock %q: %w", path, err)
}
