package proxy

import (
	"errors"
	"io"

	"github.com/gosrt/gosrt/policy"
)

// maxFirstBytes bounds what is held back while the first message is incomplete.
const maxFirstBytes = maxHeaderBytes

// firstBytes holds back what a client sends first until it is plain whether it
// names another host: a TLS server name or an HTTP Host that differs from the
// one that was allowed would make an allowed name the door to its neighbours on
// the same front end. Protocols in which the server speaks first are not
// delayed, because only what goes up is looked at; of a tunnel only its first
// message is.
type firstBytes struct {
	server *Server
	permit permit
	client *endpoint // gets the refusal in its own protocol
	held   []byte
	// sent counts the bytes of held that went on already: a first line that has
	// not ended is no request yet, and its protocol may wait for an answer to it.
	sent int
	// seen is the protocol that what is held has begun.
	seen proto
	// handHTTP leaves HTTP to the HTTP server, which judges every request and
	// not the first alone: write fails with errIsHTTP and keeps what is held.
	handHTTP bool
}

// errIsHTTP is not a fault: the client speaks HTTP.
var errIsHTTP = errors.New("the client speaks HTTP")

// inspect makes the guard of a connection; nil where the policy wants none.
func (s *Server) inspect(p permit, client *endpoint) *firstBytes {
	if p.network.SNIIgnored {
		return nil
	}
	return &firstBytes{server: s, permit: p, client: client}
}

// write takes the next bytes on their way to e.
func (g *firstBytes) write(e *endpoint, b []byte) (int, error) {
	g.held = append(g.held, b...)
	if !g.mayEnd(len(b)) && len(g.held) <= maxFirstBytes {
		return len(b), nil
	}
	m := readFirstMessage(g.held)
	g.seen = m.proto
	if m.incomplete && len(g.held) <= maxFirstBytes {
		return len(b), g.sendEarly(e, m)
	}
	if g.handHTTP && m.proto == protoHTTP && !m.incomplete && !m.tunnel {
		return 0, errIsHTTP
	}
	if m.incomplete && m.proto != protoOther {
		m.err = errors.New("its first message does not end")
	}
	if err := g.judge(m); err != nil {
		g.refuse(m, err)
		_ = e.Close()
		return 0, err
	}
	rest := g.held[g.sent:]
	g.held, e.guard = nil, nil
	if _, err := e.send(rest); err != nil {
		return 0, err
	}
	return len(b), nil
}

// mayEnd says whether the last n bytes can have completed the first message. A
// message that comes byte by byte would else be read anew for each of them.
func (g *firstBytes) mayEnd(n int) bool {
	switch g.seen {
	case protoHTTP:
		return endsHead(g.held[max(0, len(g.held)-n-2):])
	case protoTLS:
		return holdsHello(g.held)
	}
	return true
}

// sendEarly lets an unfinished first line go on.
func (g *firstBytes) sendEarly(e *endpoint, m firstMessage) error {
	if m.proto != protoOther {
		return nil
	}
	n, err := e.send(g.held[g.sent:])
	g.sent += n
	return err
}

// pump moves one piece from r through write. Many tunnels wait long for their
// first byte, so they wait with a small buffer.
func (g *firstBytes) pump(e *endpoint, r io.Reader) (int64, error) {
	size := 64
	if len(g.held) > 0 {
		size = 4 << 10
	}
	buf := make([]byte, size)
	n, readErr := r.Read(buf)
	if n > 0 {
		if _, err := g.write(e, buf[:n]); err != nil {
			return 0, err
		}
	}
	return int64(n), readErr
}

// finish is the client's half-close. What is still held began to name a host
// and did not get there.
func (g *firstBytes) finish(e *endpoint) error {
	e.guard = nil
	if len(g.held) == g.sent {
		return nil
	}
	return errors.New("the first message is cut off")
}

// judge compares the hosts that the first message names with the one allowed.
func (g *firstBytes) judge(m firstMessage) error {
	if m.err != nil {
		return g.deny(m, policy.Decision{Reason: string(m.proto) + " that cannot be checked: " + m.err.Error()})
	}
	for _, name := range m.hosts {
		if d := g.agree(name); d.Verdict != policy.Allow {
			return g.deny(m, d)
		}
	}
	return nil
}

// agree says whether name is the host that was allowed, or itself allowed.
func (g *firstBytes) agree(name string) policy.Decision {
	dest := g.permit.dest
	h, err := hostOf(name, dest.Port)
	if err != nil {
		return policy.Decision{Reason: "names a malformed host: " + err.Error()}
	}
	if h.Host == dest.Host && h.Addr == dest.Addr {
		return policy.Decision{Verdict: policy.Allow}
	}
	d := g.permit.network.Decide(policy.HostPort{Host: h.Host, Addr: h.Addr, Port: dest.Port})
	if d.Verdict != policy.Allow {
		d.Verdict = policy.Deny
		d.Reason = "the connection names " + printable(h.Name()) + ": " + d.Reason
	}
	return d
}

// hostOf reads a server name or a Host header, whose port is not compared: a
// tunnel may well be a forwarded port.
func hostOf(text string, port uint16) (policy.HostPort, error) {
	if hasPort(text) {
		return policy.ParseHostPort(text)
	}
	return policy.NewHostPort(text, port)
}

func (g *firstBytes) deny(m firstMessage, d policy.Decision) error {
	return g.server.deny(request{dest: g.permit.dest, op: g.permit.op + " " + string(m.proto)}, d)
}

// refuse tells the client in the protocol it speaks.
func (g *firstBytes) refuse(m firstMessage, err error) {
	if g.client == nil {
		return
	}
	var denied *deniedError
	switch {
	case m.proto == protoTLS:
		_, _ = g.client.Write(tlsAccessDenied)
	case m.proto == protoHTTP && errors.As(err, &denied):
		_ = denial(denied).Write(g.client)
	}
}
