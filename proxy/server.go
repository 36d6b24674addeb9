package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/elazarl/goproxy"

	"github.com/gosrt/gosrt/policy"
)

// Limits of one connection. There is no limit on its total time or volume.
const (
	handshakeTimeout = 10 * time.Second // first byte, SOCKS handshake, HTTP header
	keepAliveTimeout = 90 * time.Second // between two HTTP requests
	maxHeaderBytes   = 64 << 10
	maxClients       = 8192 // connections accepted at once; more wait in the backlog
)

// Server carries the connections of one run. Set the fields before the first
// use and leave them alone afterwards; SetNetwork changes the policy. The zero
// Server reaches nothing. Any number of Servers live side by side.
type Server struct {
	// Network is the policy at the start.
	Network policy.Network
	// Resolve looks a canonical name up. Nil: the system's resolver.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// OwnAddrs lists this host's addresses, which no name may resolve to. Nil:
	// the interfaces' addresses.
	OwnAddrs func() []netip.Addr
	// Ask decides a host that no rule decides, where the policy asks. It is
	// called once for a destination while an answer is pending. Nil: denied.
	Ask func(ctx context.Context, h policy.HostPort) bool
	// AskTimeout bounds one question; no answer denies. Zero: two minutes.
	AskTimeout time.Duration
	// OnViolation is told of each denial, from any goroutine. Nil: nobody is.
	OnViolation func(policy.Violation)
	// OnConnect is told of each allowed connection when it ends. Nil: nobody is.
	OnConnect func(Connection)
	// Self answers plain requests for SelfHost. Nil: that host is as any other.
	Self http.Handler
	// UpstreamEnv looks up the caller's proxy variables for upstream = "env".
	// Nil: none are set.
	UpstreamEnv func(name string) string
	// IdleTimeout ends a connection on which nothing moved. Zero: six hours.
	IdleTimeout time.Duration
	// DrainTimeout ends a half-closed connection on which nothing moved. Zero:
	// five minutes.
	DrainTimeout time.Duration

	once      sync.Once
	startErr  error           // what is wrong with Network; every connection fails
	ctx       context.Context // ends with Close
	cancel    context.CancelFunc
	http      *http.Server
	httpConns chan net.Conn
	goproxy   *goproxy.ProxyHttpServer
	transport *http.Transport
	slots     chan struct{}
	own       ownAddrs
	asks      asks

	mu        sync.Mutex
	network   policy.Network
	upstream  upstream
	era       uint64 // counts SetNetwork
	closed    bool
	listeners map[net.Listener]struct{}
	endpoints map[*endpoint]struct{}
	running   sync.WaitGroup
}

// Connection is what OnConnect is told.
type Connection struct {
	Dest     policy.HostPort
	Protocol string // "HTTP", "CONNECT", "SOCKS5", "captured"
	Sent     int64  // bytes towards Dest
	Received int64  // bytes from Dest
	Start    time.Time
	Duration time.Duration
}

// errClosed is what everything returns after Close.
var errClosed = errors.New("proxy: server closed")

func (s *Server) start() {
	s.once.Do(func() {
		s.ctx, s.cancel = context.WithCancel(context.Background())
		s.network = s.Network
		s.upstream, s.startErr = s.upstreamOf(s.Network)
		s.listeners = map[net.Listener]struct{}{}
		s.endpoints = map[*endpoint]struct{}{}
		s.slots = make(chan struct{}, maxClients)
		s.httpConns = make(chan net.Conn)
		s.startHTTP()
		s.running.Add(1)
		go s.reapIdle()
	})
}

// Serve accepts connections from l until Close, or until l fails. Both
// protocols are spoken on any listener: the first byte tells them apart. It
// closes l. The error is nil after Close.
func (s *Server) Serve(l net.Listener) error { return s.accept(l, s.ServeConn) }

// accept hands each connection of l to serve, which closes it.
func (s *Server) accept(l net.Listener, serve func(net.Conn)) error {
	s.start()
	defer l.Close()
	if s.startErr != nil {
		return s.startErr
	}
	if !s.addListener(l) {
		return errClosed
	}
	defer s.removeListener(l)
	for {
		if !s.takeSlot() {
			return nil
		}
		c, err := l.Accept()
		if err != nil {
			<-s.slots
			if s.isClosed() {
				return nil
			}
			if temporary(err) {
				continue
			}
			return err
		}
		go func() {
			defer func() { <-s.slots }()
			serve(c)
		}()
	}
}

// takeSlot waits for room under maxClients; false when the server closes.
func (s *Server) takeSlot() bool {
	select {
	case s.slots <- struct{}{}:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// temporary says whether accepting may go on: the peer was gone already, or
// descriptors are short for a moment. It waits a little in the second case.
func temporary(err error) bool {
	var ne net.Error
	if !errors.As(err, &ne) || errors.Is(err, net.ErrClosed) {
		return false
	}
	//lint:ignore SA1019 net/http's own accept loop has no better word either
	if !ne.Temporary() {
		return false
	}
	time.Sleep(5 * time.Millisecond)
	return true
}

// ServeConn carries one accepted connection and returns when it has ended. It
// closes c.
func (s *Server) ServeConn(c net.Conn) {
	s.start()
	client := s.adopt(c, flowClient)
	if client == nil {
		return
	}
	defer client.Close()
	first, err := firstByte(client)
	if err != nil {
		return
	}
	switch first {
	case socks5Version:
		s.serveSOCKS(client)
	case socks4Version:
		_, _ = client.Write(socks4Rejected)
	default:
		s.serveHTTP(client)
	}
}

// firstByte reads one byte in the handshake time and puts it back.
func firstByte(client *endpoint) (byte, error) {
	_ = client.SetReadDeadline(time.Now().Add(handshakeTimeout))
	var b [1]byte
	if _, err := client.Read(b[:]); err != nil {
		return 0, err
	}
	client.unread(b[:])
	return b[0], client.SetReadDeadline(time.Time{})
}

// SetNetwork replaces the policy of a running server. Connections that the new
// policy denies end before it returns. A network whose upstream cannot be
// understood is refused and the old policy stays.
func (s *Server) SetNetwork(n policy.Network) error {
	s.start()
	up, err := s.upstreamOf(n)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.network, s.upstream = n, up
	s.era++
	var ended []*endpoint
	for e := range s.endpoints {
		if e.flow.kind == flowOut && !keeps(n, e.flow) {
			ended = append(ended, e)
		}
	}
	s.mu.Unlock()
	for _, e := range ended {
		_ = e.Close()
	}
	return nil
}

// Close ends every connection and listener and waits until they have ended.
func (s *Server) Close() error {
	s.start()
	s.mu.Lock()
	s.closed = true
	s.cancel()
	var open []interface{ Close() error }
	for l := range s.listeners {
		open = append(open, l)
	}
	for e := range s.endpoints {
		open = append(open, e)
	}
	s.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
	}
	err := s.http.Close()
	s.transport.CloseIdleConnections()
	s.running.Wait()
	return err
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *Server) addListener(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

func (s *Server) removeListener(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

// rules returns the policy of this moment and the era it belongs to.
func (s *Server) rules() (policy.Network, upstream, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.network, s.upstream, s.era
}
