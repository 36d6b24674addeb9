package proxy

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gosrt/gosrt/policy"
)

// flowKind says which side of a connection an endpoint is.
type flowKind int

const (
	flowClient flowKind = iota // accepted from the command
	flowOut                    // dialled for it
)

// flow is what an endpoint carries.
type flow struct {
	kind     flowKind
	dest     policy.HostPort // flowOut: the destination as it was judged
	addr     netip.Addr      // flowOut: the address dialled; invalid behind an upstream proxy
	asked    bool            // flowOut: the asker allowed it, not a rule
	protocol string
	start    time.Time
}

// endpoint is one side of a connection that the server carries. It keeps
// *net.TCPConn visible through ReadFrom and WriteTo, so that the kernel splices
// between two of them; behind an ordinary interface a tunnel would cost three
// times the CPU and lose its half-close. It is closed once, and until then the
// server can find it.
type endpoint struct {
	net.Conn
	tcp    *net.TCPConn // nil for a connection of another kind
	server *Server
	flow   flow
	pre    []byte // read already, to be read again first
	// guard looks at the first bytes written, before any of them leaves.
	guard *firstBytes
	// captured is where a captured client was going, and spare its connection
	// there, once it turned out to speak HTTP.
	captured policy.HostPort
	spare    atomic.Pointer[endpoint]

	sent, received atomic.Int64
	touched        atomic.Int64 // unix nanoseconds of the last byte seen here
	halfClosed     atomic.Bool
	closing        sync.Once
	done           chan struct{}
}

// adopt puts c under the server's care; nil, with c closed, after Close.
func (s *Server) adopt(c net.Conn, kind flowKind) *endpoint {
	return s.adoptFlow(c, flow{kind: kind, start: time.Now()})
}

// adoptFlow is adopt for a flow that is known: SetNetwork may look at it at once.
func (s *Server) adoptFlow(c net.Conn, f flow) *endpoint {
	e := &endpoint{Conn: c, server: s, flow: f, done: make(chan struct{})}
	e.tcp, _ = c.(*net.TCPConn)
	e.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
		return nil
	}
	s.endpoints[e] = struct{}{}
	s.running.Add(1)
	return e
}

func (e *endpoint) touch() { e.touched.Store(time.Now().UnixNano()) }

// unread makes b the next bytes that Read returns.
func (e *endpoint) unread(b []byte) { e.pre = append(append([]byte(nil), b...), e.pre...) }

// Read counts and hands back what was unread.
func (e *endpoint) Read(p []byte) (int, error) {
	if len(e.pre) > 0 {
		n := copy(p, e.pre)
		e.pre = e.pre[n:]
		return n, nil
	}
	n, err := e.Conn.Read(p)
	e.received.Add(int64(n))
	e.touch()
	return n, err
}

// Write sends p once the guard, if there is one, has passed the first bytes.
func (e *endpoint) Write(p []byte) (int, error) {
	if e.guard != nil {
		return e.guard.write(e, p)
	}
	return e.send(p)
}

func (e *endpoint) send(p []byte) (int, error) {
	n, err := e.Conn.Write(p)
	e.sent.Add(int64(n))
	e.touch()
	return n, err
}

// ReadFrom lets the kernel move the bytes where both sides are TCP.
func (e *endpoint) ReadFrom(r io.Reader) (int64, error) {
	var before int64
	for e.guard != nil {
		n, err := e.guard.pump(e, r)
		before += n
		if err != nil {
			return before, ignoreEOF(err)
		}
	}
	n, err := e.sendFrom(r)
	return before + n, err
}

func (e *endpoint) sendFrom(r io.Reader) (int64, error) {
	if e.tcp == nil || !splices {
		return io.Copy(writerOnly{e}, r)
	}
	n, err := e.tcp.ReadFrom(r)
	e.sent.Add(n)
	e.touch()
	return n, err
}

// WriteTo is ReadFrom seen from the other side.
func (e *endpoint) WriteTo(w io.Writer) (int64, error) {
	var before int64
	if len(e.pre) > 0 {
		n, err := w.Write(e.pre)
		e.pre = e.pre[n:]
		if before = int64(n); err != nil {
			return before, err
		}
	}
	if e.tcp == nil || !splices {
		n, err := io.Copy(w, readerOnly{e})
		return before + n, err
	}
	n, err := e.tcp.WriteTo(w)
	e.received.Add(n)
	e.touch()
	return before + n, err
}

// writerOnly and readerOnly hide ReadFrom and WriteTo from io.Copy.
type (
	writerOnly struct{ io.Writer }
	readerOnly struct{ io.Reader }
)

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// CloseWrite passes a half-close on; from then on the drain limit counts.
func (e *endpoint) CloseWrite() error {
	e.touch()
	e.halfClosed.Store(true)
	if e.guard != nil {
		if err := e.guard.finish(e); err != nil {
			_ = e.Close()
			return err
		}
	}
	if c, ok := e.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return e.Close()
}

// CloseRead stops reading; a connection without half-close keeps reading, since
// the other direction may still be in use.
func (e *endpoint) CloseRead() error {
	if c, ok := e.Conn.(interface{ CloseRead() error }); ok {
		return c.CloseRead()
	}
	return nil
}

// LocalAddr hides where this host dials from: the SOCKS5 reply would tell it.
func (e *endpoint) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero} }

// Close ends the endpoint once and reports an ended connection.
func (e *endpoint) Close() error {
	err := net.ErrClosed
	e.closing.Do(func() {
		err = e.Conn.Close()
		s := e.server
		s.mu.Lock()
		delete(s.endpoints, e)
		s.mu.Unlock()
		close(e.done)
		if e.flow.kind == flowOut && s.OnConnect != nil {
			s.OnConnect(e.connection())
		}
		s.running.Done()
	})
	return err
}

func (e *endpoint) connection() Connection {
	return Connection{
		Dest: e.flow.dest, Protocol: e.flow.protocol, Start: e.flow.start, Duration: time.Since(e.flow.start),
		Sent: e.sent.Load(), Received: e.received.Load(),
	}
}
