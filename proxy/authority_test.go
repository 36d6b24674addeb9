package proxy

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/gosrt/gosrt/policy"
)

// What one entrance made of one destination.
type outcome string

const (
	reached   outcome = "reached"
	denied    outcome = "denied"
	malformed outcome = "malformed" // HTTP 400; SOCKS has only "denied" for it
	failed    outcome = "failed"
)

// The odd spellings of a destination, each through every entrance with the same
// verdict, and each that is not allowed without one look-up.
func TestAuthoritiesThroughEveryEntrance(t *testing.T) {
	port := tcpOrigin(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "HTTP/1.0 200 OK\r\n\r\nreached")
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	})
	n := allowing(t, "allowed.test", "*.wild.test", "xn--mnchen-3ya.test", "127.0.0.1")
	n.Hosts = append(n.Hosts, policy.HostEntry{Name: "sub.wild.test", Addrs: []netip.Addr{loopback4}})
	n.SNIIgnored = true
	w := startWorld(t, n)
	tests := []struct {
		host string
		want outcome
	}{
		{"allowed.test", reached},
		{"ALLOWED.Test", reached},
		{"allowed.test.", reached},
		{"sub.wild.test", reached},
		{"127.0.0.1", reached},
		{"127.1", reached},
		{"2130706433", reached},
		{"0x7f000001", reached},
		{"0177.0.0.1", reached},
		{"127.0.0.1.", reached},
		{"[::ffff:127.0.0.1]", reached},
		{"[::ffff:7f00:1]", reached},

		{"denied.test", denied},
		{"wild.test", denied},
		{"notallowed.test", denied},
		{"allowed.test.evil.test", denied},
		{"allowed.testx", denied},
		{"localhost", denied},
		{"0", denied},
		{"0.0.0.0", denied},
		{"127.0.0.2", denied},
		{"[::1]", denied},
		{"[::]", denied},
		{"[64:ff9b::7f00:1]", denied},
		{"2852039166", denied},
		{"169.254.169.254", denied},
		{"metadata.google.internal", denied},

		{"", malformed},
		{".", malformed},
		{"allowed.test..", malformed},
		{".allowed.test", malformed},
		{"a..allowed.test", malformed},
		{"*", malformed},
		{"*.wild.test", malformed},
		{"evil.test\x00.allowed.test", malformed},
		{"evil.test%00.allowed.test", malformed},
		{"%61llowed.test", malformed},
		{"user@allowed.test", malformed},
		{"denied.test@allowed.test", malformed},
		{"allowed.test@denied.test", malformed},
		{"[fe80::1%25eth0]", malformed},
		{"[fe80::1%eth0]", malformed},
		{"[allowed.test]", malformed},
		{"[127.0.0.1]", malformed},
		{"256.1.1.1", malformed},
		{"1.2.3.4.5", malformed},
		{"allowed.1", malformed},
		{"-allowed.test", malformed},
		{strings.Repeat("a", 64) + ".wild.test", malformed},
		{"all owed.test", malformed},
		{"allowed.test\t", malformed},
		{"allowed.test\\", malformed},
		{"allowed!.test", malformed},
	}
	for _, tt := range tests {
		for entrance, send := range w.entrances() {
			before := len(w.lookedUp())
			got, raw := send(tt.host, port)
			want := tt.want
			if entrance == "SOCKS5" && want == malformed {
				want = denied
			}
			if got != want {
				t.Errorf("%s %q: %s, want %s (%.120q)", entrance, tt.host, got, want, raw)
			}
			if after := w.lookedUp()[before:]; len(after) > 0 {
				t.Errorf("%s %q: looked up %q", entrance, tt.host, after)
			}
			if want != reached && strings.ContainsAny(w.lastViolation().Target, "\x00\t\n\r") {
				t.Errorf("%s %q: the violation's target is not printable: %q", entrance, tt.host, w.lastViolation().Target)
			}
		}
	}
}

// entrances returns how to try a host on each of them.
func (w *world) entrances() map[string]func(host, port string) (outcome, string) {
	return map[string]func(host, port string) (outcome, string){
		"CONNECT": func(host, port string) (outcome, string) {
			return w.tryHTTP(fmt.Sprintf("CONNECT %s:%s HTTP/1.1\r\nHost: allowed.test:80\r\n\r\n", host, port))
		},
		"plain": func(host, port string) (outcome, string) {
			return w.tryHTTP(fmt.Sprintf("GET http://%s:%s/ HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n", host, port))
		},
		"SOCKS5": w.trySOCKS,
	}
}

func (w *world) tryHTTP(request string) (outcome, string) {
	c := w.dial()
	_, _ = io.WriteString(c, request)
	_ = c.CloseWrite()
	b, _ := io.ReadAll(c)
	raw := string(b)
	switch {
	case strings.Contains(raw, "reached"):
		return reached, raw
	case strings.HasPrefix(raw, "HTTP/1.1 403 ") && strings.Contains(raw, "X-Gosrt-Denied: ") && strings.Contains(raw, "Connection: close"):
		return denied, raw
	case strings.HasPrefix(raw, "HTTP/1.1 400 ") && strings.Contains(raw, "Connection: close"):
		return malformed, raw
	}
	return failed, raw
}

func (w *world) trySOCKS(host, port string) (outcome, string) {
	name := host
	if len(name) > 255 {
		name = name[:255]
	}
	c, code := w.socksRaw(append(append([]byte{5, 1, 0, 3, byte(len(name))}, name...), portBytes(w.t, port)...))
	switch code {
	case 0:
		if got := readN(w.t, c, len("HTTP/1.0 200 OK\r\n\r\nreached")); strings.HasSuffix(got, "reached") {
			return reached, got
		}
	case 2:
		return denied, "reply 2"
	}
	return failed, fmt.Sprintf("reply %d", code)
}

// Targets that are not host:port at all.
func TestTargetsThatAreNoAuthority(t *testing.T) {
	w := newWorld(t, "allowed.test", "127.0.0.1")
	for _, request := range []string{
		"CONNECT allowed.test HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"CONNECT allowed.test: HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT :443 HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT allowed.test:0 HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT allowed.test:99999 HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT allowed.test:080 HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT allowed.test:443/path HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT allowed.test:443?q HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT http://allowed.test:443 HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT //allowed.test:443 HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT /allowed.test:443 HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT ::1:443 HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"GET //allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"GET http:allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"GET http:/allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"GET http:///x HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"GET https://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"GET ftp://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"GET file:///etc/passwd HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"GET ws://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"GET http://u:p@allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"GET http://allowed.test\\@denied.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"GET http://allowed.test/ HTTP/1.1\r\n\r\n",
		"GET http://allowed.test/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"GET http://allowed.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
		"GET http://allowed.test/ HTTP/1.1\r\nHost : a\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"\x16\x03\x01\x00\x05hello\r\n\r\n",
		"garbage\r\n\r\n",
	} {
		raw := w.say(request)
		if !strings.HasPrefix(raw, "HTTP/1.1 400 ") && !strings.HasPrefix(raw, "HTTP/1.1 505 ") {
			t.Errorf("%q: %.200q", request, raw)
		}
	}
	if got := w.lookedUp(); len(got) > 0 {
		t.Errorf("looked up %q", got)
	}
	if got := w.connections(); len(got) > 0 {
		t.Errorf("dialled %v", got)
	}
}
