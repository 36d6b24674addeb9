package linux

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// Sizes and offsets of linux/inet_diag.h, which golang.org/x/sys does not have.
const (
	sizeofDiagRequest = 56 // struct inet_diag_req_v2
	sizeofDiagAnswer  = 72 // struct inet_diag_msg
	diagSourcePort    = 4  // inet_diag_msg.id.idiag_sport, big-endian
	diagSource        = 8  // inet_diag_msg.id.idiag_src
	tcpListen         = 10 // TCP_LISTEN in net/tcp_states.h
)

// listeningOn asks for the listening TCP sockets of the namespace of fd, a
// NETLINK_SOCK_DIAG socket (sock_diag(7)). It needs no capability.
func listeningOn(fd int, f ipFamily) ([]netip.AddrPort, error) {
	request := make([]byte, sizeofDiagRequest)
	request[0], request[1] = uint8(f.domain), unix.IPPROTO_TCP
	native.PutUint32(request[4:], 1<<tcpListen)
	m := netlinkMessage{kind: unix.SOCK_DIAG_BY_FAMILY, flags: unix.NLM_F_DUMP, body: request, quiet: true}
	if err := sendNetlink(fd, m.encode(1)); err != nil {
		return nil, err
	}
	var found []netip.AddrPort
	for {
		packet, err := receiveNetlink(fd)
		if err != nil {
			return nil, err
		}
		for m := range eachMessage(packet) {
			switch {
			case m.kind == unix.NLMSG_DONE:
				return found, nil
			case m.kind == unix.NLMSG_ERROR:
				return nil, fmt.Errorf("list listening sockets: %w", errorOf(m))
			case len(m.body) >= sizeofDiagAnswer:
				found = append(found, diagLocal(m.body))
			}
		}
	}
}

func diagLocal(body []byte) netip.AddrPort {
	size := 4
	if body[0] == unix.AF_INET6 {
		size = 16
	}
	a, _ := netip.AddrFromSlice(body[diagSource : diagSource+size])
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(body[diagSourcePort:]))
}

// Listening returns the ports on which the command listens where Dial reaches
// it, sorted. It may be called by one goroutine at a time.
func (n *Network) Listening() ([]uint16, error) {
	if n.diag < 0 {
		return nil, errors.New("the plan publishes no ports by itself")
	}
	var ports []uint16
	for _, f := range families {
		all, err := listeningOn(n.diag, f)
		if errors.Is(err, unix.ENOENT) {
			continue // this kernel has no such family
		}
		if err != nil {
			return nil, err
		}
		for _, at := range all {
			local := at.Addr() == f.loopback || at.Addr() == f.wildcard
			if local && !slices.Contains(n.own, at) {
				ports = append(ports, at.Port())
			}
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports), nil
}
