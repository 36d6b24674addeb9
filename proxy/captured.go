package proxy

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/gosrt/gosrt/policy"
)

// ServeCaptured carries a connection that the command made directly to dst and
// that was brought here instead. dst is the name that was looked up, or the
// address where there was none. There is no proxy protocol in which to answer:
// SSH is refused through SSH, and anything else by closing the connection.
// The first message must agree with dst, see Network.SNIIgnored; in HTTP every
// request must. It closes c and returns when the connection has ended.
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
	if out.guard = s.inspect(p, client); out.guard != nil {
		out.guard.handHTTP = true
	}
	if s.relayCaptured(client, out) {
		s.serveHTTP(client)
	}
}

// relayCaptured is relay until the client turns out to speak HTTP. Then it
// returns true: what the client said is unread, and the server, which in HTTP
// does not speak first, has said nothing, so that its connection can serve the
// first request unless the beginning of one went there already.
func (s *Server) relayCaptured(client, out *endpoint) (isHTTP bool) {
	guard := out.guard
	down := make(chan struct{})
	var handing atomic.Bool
	go func() {
		defer close(down)
		if _, err := io.Copy(client, out); !handing.Load() {
			pass(client, out, err)
		}
	}()
	_, err := io.Copy(out, client)
	if errors.Is(err, errIsHTTP) {
		handing.Store(true)
		_ = out.SetReadDeadline(time.Unix(1, 0)) // ends the other direction
		<-down
		_ = out.SetReadDeadline(time.Time{})
		client.unread(guard.held)
		out.guard = nil
		client.captured = out.flow.dest
		if guard.sent == 0 {
			client.spare.Store(out)
		}
		return true
	}
	pass(out, client, err)
	<-down
	return false
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
