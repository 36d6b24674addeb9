package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// flood opens atOnce connections and reads from each what the origin says; none
// is closed before all have been opened.
func flood(at string) (string, error) {
	var all sync.WaitGroup
	var answered atomic.Int32
	conns := make([]net.Conn, atOnce)
	for i := range conns {
		all.Go(func() {
			c, err := net.DialTimeout("tcp4", at, 5*time.Minute)
			if err != nil {
				return
			}
			conns[i] = c
			c.SetDeadline(time.Now().Add(5 * time.Minute))
			if _, err := io.ReadFull(c, make([]byte, 1)); err == nil {
				answered.Add(1)
			}
		})
	}
	all.Wait()
	for _, c := range conns {
		if c != nil {
			c.Close()
		}
	}
	return fmt.Sprintf("answered %d", answered.Load()), nil
}

// Connections far above any backlog are all carried, at once.
func TestManyCapturedConnections(t *testing.T) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Max < 6*atOnce {
		missing(t, fmt.Sprintf("a limit of %d descriptors", 6*atOnce))
	}
	r := netCommand(t, allow(t, "site.test"), client("flood", "site.test:"+holdingOrigin(t))...)
	if out, err := r.output(t); err != nil || !strings.Contains(out, fmt.Sprintf("answered %d", atOnce)) {
		t.Errorf("%v: %s", err, out)
	}
}

// holdingOrigin is sayAndHold in a process of its own, which has its own limit of
// descriptors. It returns its port.
func holdingOrigin(t *testing.T) string {
	t.Helper()
	argv := client("hold", "")
	cmd := exec.Command(argv[0], argv[1:]...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); cmd.Wait() })
	var port string
	if _, err := fmt.Fscan(stdout, &port); err != nil {
		t.Fatal(err)
	}
	return port
}

// hold is holdingOrigin's process.
func hold() error {
	shared := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		control := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		return errors.Join(control, err)
	}}
	at := "127.0.0.1:0"
	for range 4 { // one backlog holds 4096, and what it drops is tried again only after seconds
		l, err := shared.Listen(context.Background(), "tcp4", at)
		if err != nil {
			return err
		}
		at = l.Addr().String()
		go sayAndHold(l)
	}
	_, port, _ := net.SplitHostPort(at)
	fmt.Println(port)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// sayAndHold greets each connection and keeps it until the client has all it wants.
func sayAndHold(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			io.WriteString(c, "x")
			io.Copy(io.Discard, c)
			c.Close()
		}()
	}
}
