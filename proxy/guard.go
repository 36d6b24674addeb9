package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/gosrt/gosrt/policy"
)

const (
	resolveTimeout    = 10 * time.Second
	dialTimeout       = 15 * time.Second
	defaultAskTimeout = 2 * time.Minute
	ownAddrsLifetime  = time.Second
)

// request is one wish for a connection, from whichever entrance.
type request struct {
	dest     policy.HostPort
	protocol string // for Connection
	op       string // for Violation: "CONNECT", "GET", "SOCKS5", "captured"
}

// permit is an allowed request with the policy it was allowed under.
type permit struct {
	request
	network  policy.Network
	upstream upstream
	era      uint64
	asked    bool
	plain    bool // a plain HTTP request, which an HTTP upstream takes as it is
}

// deniedError is a request that the policy refuses.
type deniedError struct {
	dest     string // printable
	decision policy.Decision
}

func (e *deniedError) Error() string {
	return fmt.Sprintf("%s is denied: %s", e.dest, e.decision.Reason)
}

// admit decides by name, with no I/O but the asker's. The error is a
// *deniedError, reported already.
func (s *Server) admit(ctx context.Context, r request) (permit, error) {
	network, up, era := s.rules()
	p := permit{request: r, network: network, upstream: up, era: era}
	d := network.Decide(r.dest)
	if d.Verdict == policy.Ask {
		if s.ask(ctx, r.dest) {
			p.asked = true
			return p, nil
		}
		d.Verdict, d.Reason = policy.Deny, d.Reason+", and the asker did not allow it"
	}
	if d.Verdict != policy.Allow {
		return permit{}, s.deny(r, d)
	}
	return p, nil
}

// deny reports a denial and makes its error.
func (s *Server) deny(r request, d policy.Decision) error {
	return s.denyText(r.dest.String(), r.op, d)
}

// denyText is deny for a destination that did not even parse.
func (s *Server) denyText(dest, op string, d policy.Decision) error {
	d.Verdict = policy.Deny
	e := &deniedError{dest: printable(dest), decision: d}
	if s.OnViolation != nil {
		s.OnViolation(e.violation(op))
	}
	return e
}

// open makes the permitted connection: the name is resolved once, each address
// is classified, and one that passed is dialled as it stands.
func (s *Server) open(ctx context.Context, p permit) (*endpoint, error) {
	ctx, cancel := s.bounded(ctx, dialTimeout)
	defer cancel()
	conn, addr, err := s.connect(ctx, p)
	if err != nil {
		return nil, err
	}
	e := s.adoptFlow(conn, flow{
		kind: flowOut, dest: p.dest, addr: addr, asked: p.asked, protocol: p.protocol, start: time.Now(),
	})
	if e == nil {
		return nil, errClosed
	}
	if err := s.confirm(e, p); err != nil {
		return nil, err
	}
	return e, nil
}

// confirm decides again when the policy changed while the connection was being
// made: SetNetwork could not see it yet.
func (s *Server) confirm(e *endpoint, p permit) error {
	s.mu.Lock()
	changed, network := s.era != p.era, s.network
	s.mu.Unlock()
	if !changed || keeps(network, e.flow) {
		return nil
	}
	_ = e.Close()
	d := network.Decide(p.dest)
	return s.deny(p.request, d)
}

// keeps says whether a running connection may stay under n.
func keeps(n policy.Network, f flow) bool {
	switch n.Decide(f.dest).Verdict {
	case policy.Deny:
		return false
	case policy.Ask:
		if !f.asked {
			return false
		}
	}
	return !f.addr.IsValid() || n.DecideAddr(f.dest, f.addr, nil).Verdict == policy.Allow
}

func (s *Server) connect(ctx context.Context, p permit) (net.Conn, netip.Addr, error) {
	if c, via, err := connectUpstream(ctx, p); via {
		return c, netip.Addr{}, err
	}
	addrs, err := s.resolve(ctx, p.network, p.dest)
	if err != nil {
		return nil, netip.Addr{}, err
	}
	passed, refused := s.classify(p, addrs)
	if len(passed) == 0 {
		return nil, netip.Addr{}, s.deny(p.request, refused)
	}
	return dialAny(ctx, passed, p.dest.Port)
}

// resolve returns the addresses of a destination: its own, the policy's, or the
// resolver's answer.
func (s *Server) resolve(ctx context.Context, n policy.Network, h policy.HostPort) ([]netip.Addr, error) {
	if h.Addr.IsValid() {
		return []netip.Addr{h.Addr}, nil
	}
	if addrs, ok := n.Lookup(h.Host); ok {
		return addrs, nil
	}
	lookup := s.Resolve
	if lookup == nil {
		lookup = systemResolve
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	addrs, err := lookup(ctx, h.Host)
	if err == nil && len(addrs) == 0 {
		err = errors.New("no addresses")
	}
	if err != nil {
		return nil, &lookupError{err}
	}
	return addrs, nil
}

// lookupError is a name without an answer.
type lookupError struct{ err error }

func (e *lookupError) Error() string { return "the name does not resolve" }
func (e *lookupError) Unwrap() error { return e.err }

// systemResolve asks for a name with dots as an absolute one: a search domain
// would turn it into another name than the one that was judged.
func systemResolve(ctx context.Context, name string) ([]netip.Addr, error) {
	for _, r := range name {
		if r == '.' {
			name += "."
			break
		}
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}

// classify keeps the addresses that may be dialled, and one decision of those
// that may not.
func (s *Server) classify(p permit, addrs []netip.Addr) (passed []netip.Addr, refused policy.Decision) {
	own := s.own.get(s.OwnAddrs)
	for _, a := range addrs {
		d := p.network.DecideAddr(p.dest, a, own)
		if d.Verdict != policy.Allow {
			refused = d
			continue
		}
		passed = append(passed, a.Unmap().WithZone(""))
	}
	return passed, refused
}

// bounded makes a context that ends with ctx, with the server and after d.
func (s *Server) bounded(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, d)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// ownAddrs remembers this host's addresses for a moment: asking the kernel
// costs as much as a connection on loopback.
type ownAddrs struct {
	mu    sync.Mutex
	addrs []netip.Addr
	until time.Time
}

func (o *ownAddrs) get(list func() []netip.Addr) []netip.Addr {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := time.Now(); now.After(o.until) {
		if list == nil {
			list = interfaceAddrs
		}
		o.addrs, o.until = list(), now.Add(ownAddrsLifetime)
	}
	return o.addrs
}

func interfaceAddrs() []netip.Addr {
	var addrs []netip.Addr
	list, _ := net.InterfaceAddrs()
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			addrs = append(addrs, p.Addr())
		}
	}
	return addrs
}

// fault words a failed connection for the command, without the addresses and
// resolver details that it has no business to know.
func fault(err error) string {
	var denied *deniedError
	var lookup *lookupError
	switch {
	case errors.As(err, &denied):
		return denied.Error()
	case errors.As(err, &lookup):
		return lookup.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case isTimeout(err):
		return "connection timed out"
	case errors.Is(err, errUpstream):
		return err.Error()
	}
	return "host unreachable"
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}
