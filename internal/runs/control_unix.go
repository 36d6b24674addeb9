//go:build unix

package runs

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
)

// Control is where a run of this process takes changes.
type Control struct {
	net.Listener
	path string
}

// Listen makes the socket through which others of this user reach the run. It
// lies beside the record, where no command sees it.
func (d Dir) Listen(run string) (*Control, error) {
	c := &Control{path: d.socket(run)}
	err := d.atSocket(run, func(address string) error {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false) // the address ends with this call
		c.Listener = l
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(c.path, 0o600); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close ends and removes the socket.
func (c *Control) Close() error { return errors.Join(os.Remove(c.path), c.Listener.Close()) }

// Dial connects to the run.
func (d Dir) Dial(run string) (conn net.Conn, err error) {
	err = d.atSocket(run, func(address string) error {
		conn, err = net.Dial("unix", address)
		return err
	})
	return conn, err
}

func (d Dir) socket(run string) string { return filepath.Join(d.path, run+".sock") }

// atSocket names the socket to the kernel. The path may be longer than an address
// has room for (108 bytes on Linux, unix(7)), but not through a descriptor.
func (d Dir) atSocket(run string, use func(address string) error) error {
	if runtime.GOOS != "linux" {
		return use(d.socket(run))
	}
	dir, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return use(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(d.socket(run))))
}
