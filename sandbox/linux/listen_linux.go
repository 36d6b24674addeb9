package linux

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

func listenOn(take taker, f ipFamily, at netip.AddrPort) (net.Listener, error) {
	fd, err := take(f.stream())
	if err != nil {
		return nil, err
	}
	l, err := listenerAt(fd, f, at)
	if err != nil {
		return nil, fmt.Errorf("listen inside on %s: %w", at, err)
	}
	return l, nil
}

// backlog is what the kernel allows at most by default (net.core.somaxconn).
const backlog = 4096

// listenerAt consumes fd.
func listenerAt(fd int, f ipFamily, at netip.AddrPort) (net.Listener, error) {
	file := os.NewFile(uintptr(fd), at.String())
	defer file.Close()
	if err := bindTo(fd, f, at); err != nil {
		return nil, err
	}
	if err := unix.Listen(fd, backlog); err != nil {
		return nil, err
	}
	return net.FileListener(file)
}

// packetsAt consumes fd. The control messages that Network.Datagrams speaks of
// are switched on, and the answers may come from an address that no interface has.
func packetsAt(fd int, f ipFamily, at netip.AddrPort) (*net.UDPConn, error) {
	file := os.NewFile(uintptr(fd), at.String())
	defer file.Close()
	err := unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_FREEBIND, 1)
	if f.domain == unix.AF_INET6 {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_RECVPKTINFO, 1))
	} else {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_PKTINFO, 1))
	}
	if err = errors.Join(err, bindTo(fd, f, at)); err != nil {
		return nil, err
	}
	c, err := net.FilePacketConn(file)
	if err != nil {
		return nil, err
	}
	return c.(*net.UDPConn), nil
}

func bindTo(fd int, f ipFamily, at netip.AddrPort) error {
	if f.domain == unix.AF_INET6 {
		if err := unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_V6ONLY, 1); err != nil {
			return err
		}
	}
	return unix.Bind(fd, sockaddr(at))
}

func sockaddr(at netip.AddrPort) unix.Sockaddr {
	if at.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
}

// Dial connects to a port of loopback inside, IPv4 first.
func (n *Network) Dial(port uint16) (net.Conn, error) {
	var fault error
	for _, f := range families {
		c, err := dialInside(n.open.take, f, netip.AddrPortFrom(f.loopback, port))
		if err == nil {
			return c, nil
		}
		fault = errors.Join(fault, err)
	}
	return nil, fault
}

func dialInside(take taker, f ipFamily, to netip.AddrPort) (net.Conn, error) {
	fd, err := take(f.stream())
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), to.String())
	defer file.Close()
	// On loopback a connection is there or refused at once, unless the
	// listener's backlog is full; then the kernel tries again for this long.
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_SYNCNT, 2); err != nil {
		return nil, err
	}
	if err := unix.Connect(fd, sockaddr(to)); err != nil {
		return nil, fmt.Errorf("connect inside to %s: %w", to, err)
	}
	return net.FileConn(file)
}
