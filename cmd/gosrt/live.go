package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/gosrt/gosrt/internal/policyfile"
	"github.com/gosrt/gosrt/internal/runs"
	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox"
)

// live changes the network rules of a running command, one change at a time.
type live struct {
	c    *sandbox.Cmd
	here surroundings

	mu      sync.Mutex
	network policy.Network
}

// change applies edit. When it fails the rules stay as they are.
func (l *live) change(edit func(policy.Network) (policy.Network, error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := edit(l.network)
	if err != nil {
		return err
	}
	if err := l.c.SetNetwork(n); err != nil {
		return err
	}
	l.network = n
	return nil
}

func (l *live) document(name string, data []byte) error {
	src := policy.Source{Layer: policy.LayerFile, Name: name, Data: data, Base: l.here.Dir}
	return l.change(func(n policy.Network) (policy.Network, error) { return n.Update(src, l.here.vars()) })
}

// takeChanges listens to --control-fd and to gosrt ctl from now on. What it
// returns ends the second; the first ends with gosrt.
func (a *app) takeChanges(c *sandbox.Cmd, control *os.File, dir runs.Dir, run string) (stop func()) {
	here, err := lookAround()
	if err != nil {
		here = surroundings{Dir: "/"}
	}
	l := &live{c: c, here: here, network: c.Policy.Network}
	if control != nil {
		go a.readControl(l, control)
	}
	socket, err := dir.Listen(run)
	if err != nil {
		return func() {} // only gosrt ctl does not reach the run
	}
	go serveCtl(l, socket)
	return func() { _ = socket.Close() }
}

// readControl applies each document that comes through the descriptor. A broken
// one is reported and changes nothing.
func (a *app) readControl(l *live, control io.Reader) {
	s := bufio.NewScanner(control)
	s.Buffer(nil, maxDocument)
	s.Split(splitDocuments)
	for n := 1; s.Scan(); n++ {
		if err := l.document(fmt.Sprintf("--control-fd, document %d", n), s.Bytes()); err != nil {
			a.ui.linef(kindWarning, "%v; the rules stay as they are", err)
		}
	}
	if err := s.Err(); err != nil {
		a.ui.linef(kindWarning, "--control-fd: no longer read: %v", err)
	}
}

// maxDocument is above what policy parses.
const maxDocument = 1<<20 + 1024

// splitDocuments ends a JSON document at the end of its line or at NUL, and a
// TOML document, which has several lines, at NUL or the end of the stream.
func splitDocuments(data []byte, atEOF bool) (advance int, token []byte, err error) {
	start := len(data) - len(bytes.TrimLeft(data, " \t\r\n\x00"))
	rest, ends := data[start:], "\x00"
	if bytes.HasPrefix(rest, []byte("{")) {
		ends = "\x00\n"
	}
	switch i := bytes.IndexAny(rest, ends); {
	case i >= 0:
		return start + i + 1, rest[:i], nil
	case atEOF && len(rest) > 0:
		return len(data), rest, nil
	}
	return start, nil, nil
}

// openControl takes the descriptor of --control-fd over; 0 is none.
func openControl(fd int) (*os.File, error) {
	switch {
	case fd == 0:
		return nil, nil
	case fd < 3:
		return nil, fmt.Errorf("--control-fd %d: must be 3 or above", fd)
	}
	f, err := policyfile.Inherited(fd)
	if err != nil {
		return nil, fmt.Errorf("--control-fd: %w", err)
	}
	return f, nil
}

// ctlRequest is one line from gosrt ctl; ctlReply answers it.
type ctlRequest struct {
	Allow, Deny []string
	Document    string // empty: none
}

type ctlReply struct{ Error string }

// ctlTime bounds one exchange with gosrt ctl.
const ctlTime = 10 * time.Second

func serveCtl(l *live, socket net.Listener) {
	for {
		c, err := socket.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(ctlTime))
			var req ctlRequest
			err := json.NewDecoder(io.LimitReader(c, 2*maxDocument)).Decode(&req)
			if err == nil {
				err = l.obey(req)
			}
			var reply ctlReply
			if err != nil {
				reply.Error = err.Error()
			}
			_ = json.NewEncoder(c).Encode(reply)
		}()
	}
}

func (l *live) obey(req ctlRequest) error {
	if req.Document != "" {
		return l.document("gosrt ctl", []byte(req.Document))
	}
	return l.change(func(n policy.Network) (policy.Network, error) { return n.Extend(req.Allow, req.Deny) })
}
