package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gosrt/gosrt/policy"
)

// quietWorld is a world that nobody connects to: the tests call its parts.
func quietWorld(t *testing.T, n policy.Network) *world {
	t.Helper()
	w := &world{t: t}
	w.Server = &Server{
		Network: n,
		Resolve: w.lookup,
		OnViolation: func(v policy.Violation) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.violations = append(w.violations, v)
		},
	}
	w.start()
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// A stand-in address leads to its name; any other stands for itself.
func TestCaptureFindsTheName(t *testing.T) {
	origin := greeter(t)
	n := allowing(t, "site.test", "*.wild.test", fmt.Sprintf("127.0.0.1:%d", origin.Port()))
	w := quietWorld(t, n)
	c := &Capture{Server: w.Server, Hosts: []policy.HostEntry{
		{Name: "denied.test", Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.7")}},
		{Name: "site.test", Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")}},
		{Name: "other.test", Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.8")}},
	}}
	v4, v6 := c.names.of("site.test")
	wild, _ := c.names.of("denied.test") // as if the policy had allowed it when it was looked up
	for _, tt := range []struct {
		name string
		dst  netip.Addr
		want string
		rule string
	}{
		{"stand-in", v4, "hello", ""},
		{"stand-in, IPv6", v6, "hello", ""},
		{"stand-in, mapped", netip.AddrFrom16(v4.As16()), "hello", ""},
		{"an allowed literal", loopback4, "hello", ""},
		{"in /etc/hosts, for an allowed name too", netip.MustParseAddr("192.0.2.7"), "hello", ""},
		{"in /etc/hosts, IPv6", netip.MustParseAddr("2001:db8::7"), "hello", ""},
		{"in /etc/hosts, for a denied name", netip.MustParseAddr("192.0.2.8"), "", "no allowedDomains entry matches"},
		{"a literal", netip.MustParseAddr("192.0.2.1"), "", "no allowedDomains entry matches"},
		{"a name that is denied now", wild, "", "no allowedDomains entry matches"},
		{"never given out", netip.MustParseAddr("198.19.255.255"), "", "stands for no name"},
		{"never given out, IPv6", netip.MustParseAddr("fd67:6f73:7274::ffff"), "", "stands for no name"},
		{"the namespace's own", netip.MustParseAddr("198.18.0.1"), "", "stands for no name"},
		{"loopback that nobody named", netip.IPv6Loopback(), "", "loopback"},
	} {
		w.mu.Lock()
		w.violations = nil
		w.mu.Unlock()
		got := captured(t, c, netip.AddrPortFrom(tt.dst, origin.Port()))
		reason := w.lastViolation().Reason
		if got != tt.want || !strings.Contains(reason, tt.rule) || tt.rule == "" && reason != "" {
			t.Errorf("%s: got %q, %q", tt.name, got, reason)
		}
	}
}

// captured returns what a program reads that connects to dst.
func captured(t *testing.T, c *Capture, dst netip.AddrPort) string {
	t.Helper()
	c.OriginalDst = func(net.Conn) (netip.AddrPort, error) { return dst, nil }
	ours, theirs := tcpPair(t)
	done := make(chan struct{})
	go func() { c.serveConn(theirs); close(done) }()
	_ = ours.SetDeadline(time.Now().Add(patience))
	_ = ours.CloseWrite()
	b, _ := io.ReadAll(ours)
	_ = ours.Close()
	<-done
	return string(b)
}

// greeter is an origin on 127.0.0.1 that says hello.
func greeter(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "hello")
			_ = c.Close()
		}
	}()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

func TestStandInsAreRecycled(t *testing.T) {
	var s standIns
	first, _ := s.of("n0.test")
	for i := 1; i < maxStandIns; i++ {
		s.of(fmt.Sprintf("n%d.test", i))
	}
	if name, _ := s.name(first); name != "n0.test" {
		t.Errorf("%s stands for %q although there was room", first, name)
	}
	last, last6 := s.of("one-more.test")
	if last != first {
		t.Errorf("the oldest address is %s, the new name has %s", first, last)
	}
	for _, a := range []netip.Addr{last, last6} {
		if name, _ := s.name(a); name != "one-more.test" {
			t.Errorf("%s stands for %q", a, name)
		}
		if !standIn4.Contains(a) && !standIn6.Contains(a) {
			t.Errorf("%s is outside the ranges", a)
		}
	}
	if again, _ := s.of("n0.test"); again == first {
		t.Error("two names share an address")
	}
	if len(s.number) != maxStandIns {
		t.Errorf("%d names are kept", len(s.number))
	}
}

func TestForward(t *testing.T) {
	origin := greeter(t)
	w := quietWorld(t, policy.Network{})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- w.Forward(l, func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp4", origin.String())
		})
	}()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	if b, err := io.ReadAll(c); err != nil || string(b) != "hello" {
		t.Errorf("got %q, %v", b, err)
	}
	_ = c.Close()
	_ = w.Close()
	if err := <-ended; err != nil {
		t.Errorf("after Close: %v", err)
	}
}
