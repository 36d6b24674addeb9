package proxy

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/gosrt/gosrt/policy"
)

const (
	// answerTTL is how long an answer may be kept, in seconds: stand-ins are
	// recycled, though only after maxStandIns other names.
	answerTTL = 60
	// maxQuery is far above a query with every EDNS option in use.
	maxQuery = 4096
)

// ServeDNS answers queries over TCP from l until the server's Close. It closes l.
func (c *Capture) ServeDNS(l net.Listener) error { return c.Server.accept(l, c.serveDNSConn) }

// ServePackets answers queries over UDP until the server's Close. It closes
// conn. The control message of a query goes back with the answer, see
// ipi_spec_dst in ip(7): a resolver's answer must come from its own address.
func (c *Capture) ServePackets(conn *net.UDPConn) error {
	c.Server.start()
	defer conn.Close()
	stop := context.AfterFunc(c.Server.ctx, func() { _ = conn.Close() })
	defer stop()
	query, control := make([]byte, maxQuery), make([]byte, 256)
	for {
		n, cn, _, from, err := conn.ReadMsgUDPAddrPort(query, control)
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			continue // one peer's ICMP error; the socket goes on
		}
		if reply := c.answer(query[:n]); reply != nil {
			_, _, _ = conn.WriteMsgUDPAddrPort(reply, control[:cn], from) // a lost datagram is asked again
		}
	}
}

// serveDNSConn answers queries one after another, each with its length before it
// (RFC 1035 section 4.2.2).
func (c *Capture) serveDNSConn(conn net.Conn) {
	client := c.Server.adopt(conn, flowClient)
	if client == nil {
		return
	}
	defer client.Close()
	for {
		_ = client.SetDeadline(time.Now().Add(handshakeTimeout))
		var size [2]byte
		if _, err := io.ReadFull(client, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(client, query); err != nil {
			return
		}
		reply := c.answer(query)
		if reply == nil {
			return
		}
		reply = append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)
		if _, err := client.Write(reply); err != nil {
			return
		}
	}
}

// answer replies to one query, from the policy alone: no query leaves, neither
// for an allowed name nor for a denied one. Nil: not a query at all.
func (c *Capture) answer(query []byte) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil || header.Response {
		return nil
	}
	reply := dnsmessage.Header{
		ID: header.ID, Response: true, OpCode: header.OpCode,
		RecursionDesired: header.RecursionDesired, RecursionAvailable: true,
	}
	if header.OpCode != 0 { // RFC 1035: 0 is a standard query
		return packed(refusal(reply, dnsmessage.RCodeNotImplemented))
	}
	questions, err := p.AllQuestions()
	if err != nil || len(questions) != 1 {
		return packed(refusal(reply, dnsmessage.RCodeFormatError))
	}
	m := dnsmessage.Message{Header: reply, Questions: questions}
	m.Answers, m.RCode = c.resolve(questions[0])
	return packed(m)
}

func refusal(h dnsmessage.Header, code dnsmessage.RCode) dnsmessage.Message {
	h.RCode = code
	return dnsmessage.Message{Header: h}
}

func packed(m dnsmessage.Message) []byte {
	data, err := m.Pack()
	if err != nil {
		return nil
	}
	return data
}

// resolve answers one question. An allowed name has an address of each family
// and nothing else, so that a client goes on with those.
func (c *Capture) resolve(q dnsmessage.Question) ([]dnsmessage.Resource, dnsmessage.RCode) {
	if q.Class != dnsmessage.ClassINET {
		return nil, dnsmessage.RCodeRefused
	}
	v4, v6, found := c.lookUp(strings.TrimSuffix(q.Name.String(), "."))
	if !found {
		return nil, dnsmessage.RCodeNameError
	}
	header := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: answerTTL}
	switch {
	case q.Type == dnsmessage.TypeA:
		return []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: v4.As4()}}}, dnsmessage.RCodeSuccess
	case q.Type == dnsmessage.TypeAAAA && c.IPv6:
		return []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: v6.As16()}}}, dnsmessage.RCodeSuccess
	}
	return nil, dnsmessage.RCodeSuccess
}

// lookUp finds the addresses that name has inside.
func (c *Capture) lookUp(text string) (v4, v6 netip.Addr, found bool) {
	name, _, err := policy.CanonicalHost(text)
	if err != nil || name == "" {
		return v4, v6, false
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") { // RFC 6761 section 6.3
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback(), true
	}
	if strings.HasSuffix(name, ".arpa") { // a reverse lookup is no wish to connect, so no violation
		return v4, v6, false
	}
	network, _, _ := c.Server.rules()
	if d := decideName(network, name); d.Verdict == policy.Deny {
		if !c.searched(network, name) {
			_ = c.Server.denyText(name, "DNS", d)
		}
		return v4, v6, false
	}
	v4, v6 = c.names.of(name)
	return v4, v6, true
}

// searched says whether a resolver made name of an allowed one, which it tries
// as well.
func (c *Capture) searched(n policy.Network, name string) bool {
	for _, domain := range c.Search {
		if stem, ok := strings.CutSuffix(name, "."+domain); ok && decideName(n, stem).Verdict != policy.Deny {
			return true
		}
	}
	return false
}

// decideName says whether the policy could allow name on some port, before one
// is known. A denial is the one for HTTPS.
func decideName(n policy.Network, name string) policy.Decision {
	ports := []uint16{443, 80}
	for _, list := range [][]policy.HostRule{n.Allowed, n.Denied} {
		for _, rule := range list {
			// Beside a port that a denial names, another one may be free.
			if port := rule.Pattern.Port; port != 0 {
				ports = append(ports, port, port^1)
			}
		}
	}
	first := n.Decide(policy.HostPort{Host: name, Port: ports[0]})
	for _, port := range ports {
		if d := n.Decide(policy.HostPort{Host: name, Port: port}); d.Verdict != policy.Deny {
			return d
		}
	}
	return first
}
