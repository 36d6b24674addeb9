package proxy

import (
	"context"
	"net"
)

// Forward joins each connection of l with one that dial makes, until Close. No
// rule is asked: whoever gives a fixed destination has decided. A failed dial
// closes the connection. It closes l.
func (s *Server) Forward(l net.Listener, dial func(context.Context) (net.Conn, error)) error {
	return s.accept(l, func(c net.Conn) { s.forward(c, dial) })
}

func (s *Server) forward(c net.Conn, dial func(context.Context) (net.Conn, error)) {
	client := s.adopt(c, flowClient)
	if client == nil {
		return
	}
	defer client.Close()
	ctx, cancel := s.bounded(s.ctx, dialTimeout)
	defer cancel()
	conn, err := dial(ctx)
	if err != nil {
		return
	}
	if out := s.adopt(conn, flowClient); out != nil {
		defer out.Close()
		relay(client, client, out, out)
	}
}
