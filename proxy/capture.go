package proxy

import (
	"net"
	"net/netip"

	"github.com/gosrt/gosrt/policy"
)

// Capture serves a network in which every address is local: it answers the DNS
// of that network with stand-in addresses, and brings a connection to one of
// them to the name it stands for. Set the fields before the first use.
type Capture struct {
	Server *Server
	// OriginalDst is where an accepted connection was going. Nil: to the
	// address it was accepted at.
	OriginalDst func(net.Conn) (netip.AddrPort, error)
	// IPv6 says that the network has it too; without, names have IPv4 addresses only.
	IPv6 bool

	names standIns
}

// Serve accepts captured connections from l until the server's Close. It closes l.
func (c *Capture) Serve(l net.Listener) error { return c.Server.accept(l, c.serveConn) }

func (c *Capture) serveConn(conn net.Conn) {
	dst, err := c.originalDst(conn)
	if err != nil {
		_ = conn.Close()
		return
	}
	h := policy.HostPort{Addr: dst.Addr().Unmap().WithZone(""), Port: dst.Port()}
	if name, standsIn := c.names.name(h.Addr); name != "" {
		h = policy.HostPort{Host: name, Port: h.Port}
	} else if standsIn {
		_ = c.Server.denyText(h.String(), "captured", policy.Decision{Reason: "the address stands for no name that was looked up"})
		_ = conn.Close()
		return
	}
	c.Server.ServeCaptured(conn, h)
}

func (c *Capture) originalDst(conn net.Conn) (netip.AddrPort, error) {
	if c.OriginalDst != nil {
		return c.OriginalDst(conn)
	}
	return netip.ParseAddrPort(conn.LocalAddr().String())
}
