package proxy

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/gosrt/gosrt/policy"
)

const queryID = 0x1234

func query(t testing.TB, name string, kind dnsmessage.Type) []byte {
	t.Helper()
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: queryID, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}},
	}
	data, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// reply is a reply in the terms that the tests compare.
type reply struct {
	code  dnsmessage.RCode
	addrs []string
}

func parseReply(t testing.TB, data []byte) reply {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(data); err != nil {
		t.Fatalf("reply %x: %v", data, err)
	}
	if m.ID != queryID || !m.Response || !m.RecursionAvailable || !m.RecursionDesired {
		t.Errorf("header %+v", m.Header)
	}
	r := reply{code: m.RCode}
	for _, a := range m.Answers {
		switch b := a.Body.(type) {
		case *dnsmessage.AResource:
			r.addrs = append(r.addrs, netip.AddrFrom4(b.A).String())
		case *dnsmessage.AAAAResource:
			r.addrs = append(r.addrs, netip.AddrFrom16(b.AAAA).String())
		}
	}
	return r
}

func TestDNSAnswers(t *testing.T) {
	n := allowing(t, "site.test", "*.wild.test", "ssh.test:22", "xn--bcher-kva.test")
	n.Denied = allowing(t, "bad.wild.test", "half.wild.test:443").Allowed
	n.Hosts = nil
	w := quietWorld(t, n)
	c := &Capture{Server: w.Server, IPv6: true}
	type kind = dnsmessage.Type
	for _, tt := range []struct {
		name string
		kind kind
		code dnsmessage.RCode
		want string
	}{
		{"site.test.", dnsmessage.TypeA, 0, "198.18.0.2"},
		{"site.test.", dnsmessage.TypeAAAA, 0, "fd67:6f73:7274::2"},
		{"SITE.Test.", dnsmessage.TypeA, 0, "198.18.0.2"}, // the same name, so the same address
		{"a.wild.test.", dnsmessage.TypeA, 0, "198.18.0.3"},
		{"ssh.test.", dnsmessage.TypeA, 0, "198.18.0.4"}, // allowed on one port only
		{"half.wild.test.", dnsmessage.TypeA, 0, "198.18.0.5"},
		{"localhost.", dnsmessage.TypeA, 0, "127.0.0.1"},
		{"x.localhost.", dnsmessage.TypeAAAA, 0, "::1"},
		{"site.test.", dnsmessage.TypeMX, 0, ""}, // there is the name, but nothing of that kind
		{"site.test.", dnsmessage.TypeHTTPS, 0, ""},
		{"other.test.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"other.test.", dnsmessage.TypeTXT, dnsmessage.RCodeNameError, ""},
		{"sub.site.test.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"wild.test.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"bad.wild.test.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"site.test.corp.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""}, // a search domain
		{".", dnsmessage.TypeNS, dnsmessage.RCodeNameError, ""},
		{"10.0.0.1.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"site.test\x00.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"metadata.google.internal.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"2.0.18.198.in-addr.arpa.", dnsmessage.TypePTR, dnsmessage.RCodeNameError, ""},
	} {
		got := parseReply(t, c.answer(query(t, tt.name, tt.kind)))
		if got.code != tt.code || strings.Join(got.addrs, " ") != tt.want {
			t.Errorf("%q %v: got %v %q, want %v %q", tt.name, tt.kind, got.code, got.addrs, tt.code, tt.want)
		}
	}
	if up := w.lookedUp(); len(up) != 0 {
		t.Errorf("asked upstream: %q", up)
	}
	if v := w.lastViolation(); v.Operation != "DNS" || v.Target != "metadata.google.internal" {
		t.Errorf("a denied name is not reported: %+v", v)
	}
}

func TestDNSSearchDomainsAreNoDenials(t *testing.T) {
	w := quietWorld(t, allowing(t, "site.test"))
	c := &Capture{Server: w.Server, Search: []string{"corp.test", "svc.local"}}
	for _, tt := range []struct {
		name     string
		reported bool
	}{
		{"site.test.corp.test.", false},
		{"site.test.svc.local.", false},
		{"other.test.corp.test.", true},
		{"site.test.evil.test.", true},
		{"corp.test.", true},
		{"site.testcorp.test.", true},
	} {
		w.mu.Lock()
		w.violations = nil
		w.mu.Unlock()
		got := parseReply(t, c.answer(query(t, tt.name, dnsmessage.TypeA)))
		if got.code != dnsmessage.RCodeNameError || (w.lastViolation().Target != "") != tt.reported {
			t.Errorf("%s: %v, reported as %q", tt.name, got.code, w.lastViolation().Target)
		}
	}
}

func TestDNSWithoutIPv6(t *testing.T) {
	c := &Capture{Server: quietWorld(t, allowing(t, "site.test")).Server}
	if got := parseReply(t, c.answer(query(t, "site.test.", dnsmessage.TypeAAAA))); got.code != 0 || len(got.addrs) != 0 {
		t.Errorf("an address that nothing answers on: %+v", got)
	}
}

// Every fault gets an answer at once, so that no client waits for its time-out,
// and what is no query gets none, so that two servers never talk to each other.
func TestDNSMalformed(t *testing.T) {
	c := &Capture{Server: quietWorld(t, allowing(t, "site.test")).Server}
	good := query(t, "site.test.", dnsmessage.TypeA)
	edit := func(at int, b byte) []byte {
		q := slices.Clone(good)
		q[at] = b
		return q
	}
	for name, tt := range map[string]struct {
		query []byte
		code  dnsmessage.RCode
	}{
		"status query":       {edit(2, 2<<3), dnsmessage.RCodeNotImplemented},
		"update":             {edit(2, 5<<3), dnsmessage.RCodeNotImplemented},
		"no question":        {edit(5, 0), dnsmessage.RCodeFormatError},
		"two questions":      {edit(5, 2), dnsmessage.RCodeFormatError},
		"cut short":          {good[:len(good)-3], dnsmessage.RCodeFormatError},
		"a class like CHAOS": {edit(len(good)-1, 3), dnsmessage.RCodeRefused},
	} {
		var m dnsmessage.Message
		if err := m.Unpack(c.answer(tt.query)); err != nil || m.RCode != tt.code || m.ID != queryID {
			t.Errorf("%s: %v, %v, want %v", name, m.Header, err, tt.code)
		}
	}
	for name, q := range map[string][]byte{"empty": {}, "half a header": good[:7], "an answer": edit(2, 0x81)} {
		if r := c.answer(q); r != nil {
			t.Errorf("%s: answered %x", name, r)
		}
	}
}

func TestDNSOverUDPAndTCP(t *testing.T) {
	w := quietWorld(t, allowing(t, "site.test"))
	c := &Capture{Server: w.Server}
	pc, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	go func() { ended <- c.ServePackets(pc) }()
	go func() { ended <- c.ServeDNS(l) }()
	q := query(t, "site.test.", dnsmessage.TypeA)

	u := dialDNS(t, "udp4", pc.LocalAddr())
	for _, datagram := range [][]byte{{}, {1, 2, 3}, q} { // what is no query harms nobody
		if _, err := u.Write(datagram); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 512)
	m, err := u.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	if got := parseReply(t, buf[:m]); len(got.addrs) != 1 {
		t.Errorf("UDP: %+v", got)
	}

	s := dialDNS(t, "tcp4", l.Addr())
	framed := append(binary.BigEndian.AppendUint16(nil, uint16(len(q))), q...)
	for range 2 { // queries may follow one another
		if _, err := s.Write(framed); err != nil {
			t.Fatal(err)
		}
		var size [2]byte
		if _, err := io.ReadFull(s, size[:]); err != nil {
			t.Fatal(err)
		}
		body := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(s, body); err != nil {
			t.Fatal(err)
		}
		if got := parseReply(t, body); len(got.addrs) != 1 {
			t.Errorf("TCP: %+v", got)
		}
	}
	_ = w.Close()
	for range 2 {
		if err := <-ended; err != nil {
			t.Errorf("after Close: %v", err)
		}
	}
}

func dialDNS(t *testing.T, network string, to net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial(network, to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}

func FuzzDNS(f *testing.F) {
	f.Add(query(f, "site.test.", dnsmessage.TypeA))
	f.Add(query(f, "other.test.", dnsmessage.TypeHTTPS))
	f.Add([]byte{0, 0, 0x81, 0x80})
	n := policy.Network{Allowed: []policy.HostRule{{Pattern: policy.HostPattern{Host: "site.test"}}}}
	s := &Server{Network: n}
	f.Cleanup(func() { _ = s.Close() })
	s.start()
	c := &Capture{Server: s, IPv6: true}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := c.answer(data)
		if r == nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(r); err != nil {
			t.Fatalf("a reply that cannot be read: %v", err)
		}
		if m.ID != binary.BigEndian.Uint16(data) || !m.Response || len(r) > 600 {
			t.Fatalf("reply of %d bytes: %+v", len(r), m.Header)
		}
		for _, a := range m.Answers {
			name := strings.ToLower(a.Header.Name.String())
			if name != "site.test." && name != "localhost." && !strings.HasSuffix(name, ".localhost.") {
				t.Fatalf("an address for %q", name)
			}
		}
	})
}
