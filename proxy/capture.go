package proxy

import (
	"net"
	"net/netip"
	"slices"

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
	// Hosts are names that the command finds without DNS, in /etc/hosts: a
	// connection to such an address is one to the name where the name is allowed.
	Hosts []policy.HostEntry
	// Search are the domains that the command's resolver tries after a name. A
	// denied name made of an allowed one and such a domain is not reported.
	Search []string

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
	} else {
		h = c.byHosts(h)
	}
	c.Server.ServeCaptured(conn, h)
}

// byHosts returns the allowed name that Hosts has for an address, or the address.
func (c *Capture) byHosts(h policy.HostPort) policy.HostPort {
	network, _, _ := c.Server.rules()
	for _, entry := range c.Hosts {
		named := policy.HostPort{Host: entry.Name, Port: h.Port}
		if slices.Contains(entry.Addrs, h.Addr) && network.Decide(named).Verdict == policy.Allow {
			return named
		}
	}
	return h
}

func (c *Capture) originalDst(conn net.Conn) (netip.AddrPort, error) {
	if c.OriginalDst != nil {
		return c.OriginalDst(conn)
	}
	return netip.ParseAddrPort(conn.LocalAddr().String())
}
