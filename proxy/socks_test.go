package proxy

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

func TestSOCKSReplies(t *testing.T) {
	port := mustAtoi(t, echoOrigin(t))
	w := newWorld(t, "a.test", "127.0.0.1")
	tests := []struct {
		name string
		req  []byte
		want byte // 0xff: closed without a reply
	}{
		{"by name", socksRequest(1, "a.test", port), 0},
		{"by address", socksRequest(1, "127.0.0.1", port), 0},
		{"by mapped address", socksRequest(1, "::ffff:127.0.0.1", port), 0},
		{"denied name", socksRequest(1, "b.test", port), 2},
		{"denied address", socksRequest(1, "127.0.0.2", port), 2},
		{"denied IPv6", socksRequest(1, "::1", port), 2},
		{"unspecified", socksRequest(1, "0.0.0.0", port), 2},
		{"empty name", socksRequest(1, "", port), 2},
		{"port 0", socksRequest(1, "a.test", 0), 2},
		{"BIND", socksRequest(2, "a.test", port), 7},
		{"BIND denied", socksRequest(2, "b.test", port), 7},
		{"UDP", socksRequest(3, "0.0.0.0", 0), 7},
		{"unknown command", socksRequest(9, "a.test", port), 7},
		{"unknown address type", []byte{5, 1, 0, 9, 0, 0}, 8},
		{"wrong version", []byte{4, 1, 0, 1, 127, 0, 0, 1, 0, 80}, 0xff},
	}
	for _, tt := range tests {
		if _, code := w.socksRaw(tt.req); code != tt.want {
			t.Errorf("%s: reply %d, want %d", tt.name, code, tt.want)
		}
	}
	if got := w.lookedUp(); len(got) > 0 {
		t.Errorf("looked up %q", got)
	}
}

// A client that only offers a password is let in; one that offers nothing we
// know is told so.
func TestSOCKSMethods(t *testing.T) {
	port := mustAtoi(t, echoOrigin(t))
	w := newWorld(t, "a.test")
	c := w.dial()
	_, _ = c.Write([]byte{5, 1, 2})
	if got := readN(t, c, 2); got != "\x05\x02" {
		t.Fatalf("%q", got)
	}
	_, _ = c.Write([]byte("\x01\x04user\x04pass"))
	if got := readN(t, c, 2); got != "\x01\x00" {
		t.Fatalf("%q", got)
	}
	_, _ = c.Write(socksRequest(1, "a.test", port))
	if got := readN(t, c, 10); got != "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00" {
		t.Errorf("%q", got)
	}
	c = w.dial()
	_, _ = c.Write([]byte{5, 1, 1})
	if b, _ := io.ReadAll(c); !bytes.Equal(b, []byte{5, 0xff}) {
		t.Errorf("GSSAPI only: %q", b)
	}
	c = w.dial()
	_, _ = c.Write([]byte{5, 0})
	if b, _ := io.ReadAll(c); !bytes.Equal(b, []byte{5, 0xff}) {
		t.Errorf("no methods: %q", b)
	}
}

func TestSOCKS4IsRejected(t *testing.T) {
	w := newWorld(t, "127.0.0.1")
	if got := w.say("\x04\x01\x00\x50\x7f\x00\x00\x01\x00"); got != string(socks4Rejected) {
		t.Errorf("%q", got)
	}
}

func FuzzSOCKSHandshake(f *testing.F) {
	f.Add([]byte{5, 1, 0, 5, 1, 0, 3, 6, 'a', '.', 't', 'e', 's', 't', 0, 80})
	f.Add([]byte{5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 80, 'x'})
	f.Add([]byte{5, 2, 0, 2, 5, 3, 0, 4})
	f.Add([]byte{4, 1, 0, 80, 127, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		b[0] = 5
		neverDials(t, b)
	})
}

func FuzzHTTPAuthority(f *testing.F) {
	for _, s := range []string{"a.test:80", "127.1:1", "[::1]:9", "u@h:1", "a\x00b:1", "%31:1"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, authority string, tunnel bool) {
		request := "GET http://" + authority + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
		if tunnel {
			request = "CONNECT " + authority + " HTTP/1.1\r\nHost: x\r\n\r\n"
		}
		neverDials(t, []byte(request))
	})
}

// neverDials feeds bytes to a server that allows nothing: whatever they are, it
// answers or closes, looks nothing up and dials nothing.
func neverDials(t *testing.T, b []byte) {
	w := &world{t: t}
	w.Server = &Server{Resolve: w.lookup}
	w.Server.OnConnect = func(c Connection) { t.Errorf("dialled %v", c.Dest) }
	client, server := tcpPair(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.ServeConn(server)
	}()
	_ = client.SetDeadline(time.Now().Add(patience))
	_, _ = client.Write(b)
	_ = client.CloseWrite()
	_, _ = io.Copy(io.Discard, client)
	_ = client.Close()
	select {
	case <-done:
	case <-time.After(patience):
		t.Errorf("%q: still served", b)
	}
	_ = w.Close()
	if got := w.lookedUp(); len(got) > 0 {
		t.Errorf("%q: looked up %q", b, got)
	}
}

func tcpPair(t testing.TB) (client, server *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn), s.(*net.TCPConn)
}
