package proxy

import (
	"errors"
	"net"

	"github.com/gosrt/gosrt/policy"
)

// ServeCaptured carries a connection that the command made directly to dst and
// that was brought here instead. dst is the name that was looked up, or the
// address where there was none. There is no proxy protocol in which to answer:
// SSH is refused through SSH, and anything else by closing the connection.
// The first message must agree with dst, see Network.SNIIgnored. It closes c and
// returns when the connection has ended.
func (s *Server) ServeCaptured(c net.Conn, dst policy.HostPort) {
	s.start()
	client := s.adopt(c, flowClient)
	if client == nil {
		return
	}
	defer client.Close()
	p, err := s.admit(s.ctx, request{dest: dst, protocol: "captured", op: "captured"})
	if err != nil {
		s.refuseCaptured(client, dst, err)
		return
	}
	out, err := s.open(s.ctx, p)
	if err != nil {
		s.refuseCaptured(client, dst, err)
		return
	}
	defer out.Close()
	out.guard = s.inspect(p, client)
	relay(client, client, out, out)
}

// refuseCaptured says why where the client's protocol is known from its port.
func (s *Server) refuseCaptured(client *endpoint, dst policy.HostPort, err error) {
	var denied *deniedError
	isDenied := errors.As(err, &denied)
	switch {
	case dst.Port == sshPort && isDenied:
		_, _ = client.Write(sshRefusal(denied.line()))
	case dst.Port == httpPort:
		_ = answer(err).Write(client)
	default:
		return
	}
	lingerClose(client)
}
