package linux

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux/stage"
)

// Network is the command's network as the supervisor holds it: sockets that
// were made inside and therefore are inside. They are the receiver's to close.
type Network struct {
	// Proxies listen on 127.0.0.1, in the order of Plan.HTTPPort and Plan.SOCKSPort.
	Proxies []net.Listener
	// HostPorts listen on the loopback addresses.
	HostPorts []PortListener
	// Captured accept connections to other addresses; OriginalDst tells to which.
	Captured []net.Listener
	// DNS and Datagrams receive what is sent to any resolver, by TCP and UDP.
	// A datagram's control stage.Message says which address it was sent to; sent
	// back with the answer, it makes the answer come from there.
	DNS       []net.Listener
	Datagrams []*net.UDPConn

	Capture Capture
	// Why says what kept Capture below CaptureAll; empty where the plan does
	// not ask for more.
	Why string

	open opener
	diag int // a NETLINK_SOCK_DIAG socket; -1: none
	// unixDiag is another, for the guard (Guard.UseNetwork); -1: none.
	unixDiag int
	own      []netip.AddrPort // where the listeners above are
}

// PortListener listens for the host's port of the same number.
type PortListener struct {
	net.Listener
	Port uint16
}

// Capture says which connections of programs that ignore the proxy variables
// are caught. Any other fails at once; the policy is the same for each.
type Capture int

const (
	CaptureNone  Capture = iota // none: only the proxies lead out
	CapturePorts                // those to the ports that the policy allows
	CaptureAll                  // all
)

func (c Capture) String() string {
	switch c {
	case CapturePorts:
		return "a listener on each allowed port"
	case CaptureAll:
		return "all connections are redirected"
	}
	return "proxies only"
}

// setUpNetwork shapes the inside's network by sockets that open makes there. An
// error means that what the plan needs is missing; capturing is not needed.
func setUpNetwork(open opener, plan *policy.Plan) (*Network, error) {
	s, err := newStock(open, socketsFor(plan))
	if err != nil {
		return nil, err
	}
	defer s.discard()
	n := &Network{open: open, diag: -1, unixDiag: -1}
	err = n.listen(s.take, plan)
	if err == nil && publishesByItself(plan.Network) {
		n.diag, err = s.take(diagSocket)
	}
	if err == nil && plan.Guard {
		n.unixDiag, err = s.take(diagSocket)
	}
	if err != nil {
		n.Close()
		return nil, err
	}
	if plan.Transparent {
		if err := n.capture(s.take, plan); err != nil {
			n.Why = err.Error()
		}
	}
	n.own = n.addresses()
	return n, nil
}

func publishesByItself(n policy.Network) bool {
	return slices.ContainsFunc(n.Publish, func(r policy.PublishRule) bool { return r.Auto })
}

// addresses lists where the namespace listens for gosrt.
func (n *Network) addresses() []netip.AddrPort {
	var all []netip.AddrPort
	for _, l := range n.listeners() {
		all = append(all, l.Addr().(*net.TCPAddr).AddrPort())
	}
	return all
}

func (n *Network) listeners() []net.Listener {
	all := slices.Concat(n.Proxies, n.Captured, n.DNS)
	for _, l := range n.HostPorts {
		all = append(all, l)
	}
	return all
}

// socketsFor lists what setUpNetwork takes where nothing is missing.
func socketsFor(plan *policy.Plan) []stage.SocketSpec {
	tcp4, tcp6 := families[0].stream(), families[1].stream()
	want := []stage.SocketSpec{tcp4, tcp4} // the proxies
	for range plan.Network.HostPorts {
		want = append(want, tcp4, tcp6)
	}
	if publishesByItself(plan.Network) {
		want = append(want, diagSocket)
	}
	if plan.Guard {
		want = append(want, diagSocket)
	}
	if plan.Transparent {
		want = append(want, routeSocket, filterSocket)
		for _, f := range families {
			want = append(want, f.stream(), f.stream(), f.datagram()) // captured, DNS
		}
	}
	return want
}

// Close closes every socket.
func (n *Network) Close() {
	for _, fd := range []*int{&n.diag, &n.unixDiag} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
	closeListeners(n.listeners())
	for _, c := range n.Datagrams {
		c.Close()
	}
}

// ipFamily is one of IPv4 and IPv6 with what differs.
type ipFamily struct {
	domain             int
	loopback, wildcard netip.Addr
}

var families = []ipFamily{
	{unix.AF_INET, netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv4Unspecified()},
	{unix.AF_INET6, netip.IPv6Loopback(), netip.IPv6Unspecified()},
}

func (f ipFamily) stream() stage.SocketSpec {
	return stage.SocketSpec{Domain: f.domain, Type: unix.SOCK_STREAM, Protocol: 0}
}
func (f ipFamily) datagram() stage.SocketSpec {
	return stage.SocketSpec{Domain: f.domain, Type: unix.SOCK_DGRAM, Protocol: 0}
}

var (
	routeSocket  = stage.SocketSpec{Domain: unix.AF_NETLINK, Type: unix.SOCK_RAW, Protocol: unix.NETLINK_ROUTE}
	filterSocket = stage.SocketSpec{Domain: unix.AF_NETLINK, Type: unix.SOCK_RAW, Protocol: unix.NETLINK_NETFILTER}
	diagSocket   = stage.SocketSpec{Domain: unix.AF_NETLINK, Type: unix.SOCK_RAW, Protocol: unix.NETLINK_SOCK_DIAG}
)

// listen opens the proxies' ports and the host's. A host port on ::1 may fail,
// on a host without IPv6; one on 127.0.0.1 may not.
func (n *Network) listen(take taker, plan *policy.Plan) error {
	ports := []uint16{plan.HTTPPort, plan.SOCKSPort}
	for _, port := range ports {
		l, err := listenOn(take, families[0], netip.AddrPortFrom(families[0].loopback, port))
		if err != nil {
			return err
		}
		n.Proxies = append(n.Proxies, l)
	}
	for _, rule := range plan.Network.HostPorts {
		for _, f := range families {
			l, err := listenOn(take, f, netip.AddrPortFrom(f.loopback, rule.Port))
			if err == nil {
				n.HostPorts = append(n.HostPorts, PortListener{l, rule.Port})
			} else if f.domain == unix.AF_INET {
				return fmt.Errorf("host port %d (%s): %w", rule.Port, rule.Origin, err)
			}
		}
	}
	return nil
}

// capture climbs down: every connection, else the allowed ports, else none. The
// error says why not every connection.
func (n *Network) capture(take taker, plan *policy.Plan) error {
	usable, err := makeLocal(take)
	if len(usable) == 0 {
		return err
	}
	for _, f := range usable {
		if err := n.answerDNS(take, f); err != nil {
			return err
		}
	}
	err = n.captureAll(take, usable)
	if err == nil {
		n.Capture = CaptureAll
		return nil
	}
	n.capturePorts(take, usable, portsToCapture(plan.Network))
	return err
}

// makeLocal returns the families in which every address is the namespace's own now.
func makeLocal(take taker) ([]ipFamily, error) {
	fd, err := take(routeSocket)
	if err != nil {
		return nil, fmt.Errorf("set the routes: %w", err)
	}
	defer unix.Close(fd)
	var usable []ipFamily
	for i, f := range families {
		failed := transact(fd, everyAddressLocal(sources[i])...)
		if failed == nil {
			usable = append(usable, f)
		} else if err == nil {
			err = fmt.Errorf("set the routes: %w", failed)
		}
	}
	return usable, err
}

// answerDNS takes port 53 of every address. Binding a port below 1024 is, as in
// transact, the right of the supervisor.
func (n *Network) answerDNS(take taker, f ipFamily) error {
	at := netip.AddrPortFrom(f.wildcard, dnsPort)
	l, err := listenOn(take, f, at)
	if err != nil {
		return err
	}
	n.DNS = append(n.DNS, l)
	fd, err := take(f.datagram())
	if err != nil {
		return err
	}
	c, err := packetsAt(fd, f, at)
	if err != nil {
		return fmt.Errorf("receive datagrams inside on %s: %w", at, err)
	}
	n.Datagrams = append(n.Datagrams, c)
	return nil
}

// captureAll redirects every connection to one listener of its family.
func (n *Network) captureAll(take taker, usable []ipFamily) error {
	fd, err := take(filterSocket)
	if err != nil {
		return fmt.Errorf("nf_tables: %w", err)
	}
	defer unix.Close(fd)
	var listeners []net.Listener
	ports := map[int]uint16{}
	for _, f := range usable {
		l, err := listenOn(take, f, netip.AddrPortFrom(f.loopback, 0))
		if err != nil {
			return errors.Join(err, closeListeners(listeners))
		}
		listeners = append(listeners, l)
		ports[f.domain] = uint16(l.Addr().(*net.TCPAddr).Port)
	}
	if err := transact(fd, redirect(ports[unix.AF_INET], ports[unix.AF_INET6])...); err != nil {
		return errors.Join(fmt.Errorf("nf_tables: %w", err), closeListeners(listeners))
	}
	n.Captured = listeners
	return nil
}

func closeListeners(list []net.Listener) (err error) {
	for _, l := range list {
		err = errors.Join(err, l.Close())
	}
	return err
}

// capturePorts listens on each port of every address. A port that cannot be had
// is left to the proxies.
func (n *Network) capturePorts(take taker, usable []ipFamily, ports []uint16) {
	for _, port := range ports {
		for _, f := range usable {
			if l, err := listenOn(take, f, netip.AddrPortFrom(f.wildcard, port)); err == nil {
				n.Captured = append(n.Captured, l)
				n.Capture = CapturePorts
			}
		}
	}
}
