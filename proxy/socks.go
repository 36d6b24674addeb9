package proxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/netip"
	"time"

	socks5 "github.com/armon/go-socks5"

	"github.com/gosrt/gosrt/policy"
)

const (
	socks4Version = 4
	socks5Version = 5
)

// socks4Rejected is the SOCKS4 reply "request rejected" (code 91): there is no
// SOCKS4 here, and silence would look like a broken network.
var socks4Rejected = []byte{0, 91, 0, 0, 0, 0, 0, 0}

// serveSOCKS runs one SOCKS5 connection. The library gets a server of its own
// for it (under a microsecond), because that is the only way to tell its
// callbacks which connection they serve.
func (s *Server) serveSOCKS(client *endpoint) {
	defer func() { _ = recover() }() // a library fault ends this connection alone
	_ = client.SetDeadline(time.Now().Add(handshakeTimeout))
	c := &socksConn{server: s, client: client}
	server, err := socks5.New(&socks5.Config{
		AuthMethods: []socks5.Authenticator{
			socks5.NoAuthAuthenticator{},
			// Some clients offer only a password. Who may connect is settled by
			// the namespace, so any will do.
			socks5.UserPassAuthenticator{Credentials: anyPassword{}},
		},
		Resolver: noResolver{},
		Rules:    c,
		Dial:     c.dial,
		Logger:   log.New(io.Discard, "", 0),
	})
	if err == nil {
		_ = server.ServeConn(client)
	}
}

type anyPassword struct{}

func (anyPassword) Valid(_, _ string) bool { return true }

// noResolver keeps the library from resolving names before they are judged.
type noResolver struct{}

func (noResolver) Resolve(ctx context.Context, _ string) (context.Context, net.IP, error) {
	return ctx, nil, nil
}

// socksConn answers the library's callbacks for one connection. Allow does
// everything, so that each way to fail has its own reply; dial hands over.
type socksConn struct {
	server *Server
	client *endpoint
	conn   net.Conn
	err    error
}

// Allow returns false only for a denial (reply 2). BIND and UDP ASSOCIATE pass
// here because the library refuses them next (reply 7).
func (c *socksConn) Allow(ctx context.Context, req *socks5.Request) (context.Context, bool) {
	_ = c.client.SetDeadline(time.Time{})
	if req.Command != socks5.ConnectCommand {
		return ctx, true
	}
	c.conn, c.err = c.server.openSOCKS(ctx, req.DestAddr, c.client)
	var denied *deniedError
	if !errors.As(c.err, &denied) {
		return ctx, true
	}
	if req.DestAddr.Port != sshPort {
		return ctx, false
	}
	// ssh shows a reason only when it comes through SSH.
	c.conn, c.err = newRefusalConn(sshRefusal(denied.line())), nil
	return ctx, true
}

// dial hands the opened connection over. The library reads its reply code from
// the error's text.
func (c *socksConn) dial(context.Context, string, string) (net.Conn, error) {
	if c.err != nil {
		return nil, errors.New(fault(c.err))
	}
	if c.conn == nil {
		return nil, errors.New("BUG(gosrt): a SOCKS connection that was not admitted")
	}
	return c.conn, nil
}

func (s *Server) openSOCKS(ctx context.Context, spec *socks5.AddrSpec, client *endpoint) (net.Conn, error) {
	dest, err := socksDest(spec)
	if err != nil {
		text := net.JoinHostPort(spec.FQDN, "")
		return nil, s.denyText(text, "SOCKS5", policy.Decision{Reason: "malformed destination: " + err.Error()})
	}
	p, err := s.admit(ctx, request{dest: dest, protocol: "SOCKS5", op: "SOCKS5"})
	if err != nil {
		return nil, err
	}
	out, err := s.open(ctx, p)
	if err != nil {
		return nil, err
	}
	out.guard = s.inspect(p, client)
	return out, nil
}

// socksDest settles the destination as every other entrance does.
func socksDest(spec *socks5.AddrSpec) (policy.HostPort, error) {
	host := spec.FQDN
	if addr, ok := netip.AddrFromSlice(spec.IP); ok && host == "" {
		host = addr.String()
	}
	return policy.NewHostPort(host, uint16(spec.Port))
}
