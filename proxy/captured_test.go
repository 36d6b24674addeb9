package proxy

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gosrt/gosrt/policy"
)

// capture gives the client's side of a captured connection to dst.
func (w *world) capture(dst string) *net.TCPConn {
	w.t.Helper()
	h, err := policy.ParseHostPort(dst)
	if err != nil {
		w.t.Fatal(err)
	}
	client, server := tcpPair(w.t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.ServeCaptured(server, h)
	}()
	_ = client.SetDeadline(time.Now().Add(patience))
	w.t.Cleanup(func() { _ = client.Close(); <-done })
	return client
}

func TestCapturedCarriesAnyProtocol(t *testing.T) {
	port := echoOrigin(t)
	greeting := tcpOrigin(t, func(c *net.TCPConn) { _, _ = io.WriteString(c, "220 ready\r\n") })
	w := newWorld(t, "a.test", "127.0.0.1")
	for _, dst := range []string{"a.test:" + port, "127.0.0.1:" + port} {
		for _, text := range []string{"\x00\x00\x00\x08binary", "SSH-2.0-x\r\n", "QUIT", "HELO x\r\n", "*1\r\n$4\r\nPING\r\n", "\x16", "\x16\x02odd"} {
			c := w.capture(dst)
			_, _ = io.WriteString(c, text)
			_ = c.CloseWrite()
			b, _ := io.ReadAll(c)
			want := text
			if text == "\x16" { // cut off where a server name could follow
				want = ""
			}
			if string(b) != want {
				t.Errorf("%s %q: %q", dst, text, b)
			}
		}
	}
	c := w.capture("a.test:" + greeting) // the server speaks first
	if b, _ := io.ReadAll(c); string(b) != "220 ready\r\n" {
		t.Errorf("greeting %q", b)
	}
	c = w.capture("denied.test:" + port)
	if b, err := io.ReadAll(c); len(b) > 0 || isTimeout(err) {
		t.Errorf("denied: %q, %v", b, err)
	}
	if v := w.lastViolation(); v.Operation != "captured" || v.Target != "denied.test:"+port {
		t.Errorf("%+v", v)
	}
}

// The TLS server name must be the host that was allowed, or allowed itself, on
// every entrance.
func TestServerNameMustAgree(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(hello))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	tests := []struct {
		sni, host string
		ignore    bool
		ok        bool
	}{
		{"a.test", "a.test", false, true},
		{"A.Test", "a.test", false, true},
		{"", "a.test", false, true},
		{"b.test", "a.test", false, true}, // allowed by itself
		{"evil.test", "a.test", false, false},
		{"a.test.evil.test", "a.test", false, false},
		{"evil.test", "127.0.0.1", false, false},
		{"a.test", "127.0.0.1", false, true},
		{"evil.test", "a.test", true, true},
	}
	for _, tt := range tests {
		n := allowing(t, "a.test", "b.test", "127.0.0.1")
		n.SNIIgnored = tt.ignore
		w := startWorld(t, n)
		for name, c := range map[string]net.Conn{
			"captured": w.capture(tt.host + ":" + port),
			"CONNECT":  w.connect(tt.host + ":" + port),
			"SOCKS5":   w.openTunnel("SOCKS5", tt.host, port),
		} {
			// Small writes: the hello arrives in pieces.
			err := tls.Client(&dribble{Conn: c}, &tls.Config{ServerName: tt.sni, InsecureSkipVerify: true}).Handshake()
			if (err == nil) != tt.ok {
				t.Errorf("%s: SNI %q to %s: %v", name, tt.sni, tt.host, err)
			}
			if !tt.ok && !strings.Contains(fmt.Sprint(err), "access denied") {
				t.Errorf("%s: SNI %q to %s: %v, want the alert", name, tt.sni, tt.host, err)
			}
			if v := w.lastViolation(); !tt.ok && (!strings.HasSuffix(v.Operation, "TLS") || !strings.Contains(v.Reason, "names "+tt.sni)) {
				t.Errorf("%s: violation %+v", name, v)
			}
		}
	}
}

// dribble writes a few bytes at a time.
type dribble struct{ net.Conn }

func (d *dribble) Write(p []byte) (int, error) {
	for i := 0; i < len(p); i += 100 {
		if n, err := d.Conn.Write(p[i:min(i+100, len(p))]); err != nil {
			return i + n, err
		}
		time.Sleep(time.Millisecond)
	}
	return len(p), nil
}

// So must the Host of the first request in a tunnel.
func TestHostHeaderMustAgree(t *testing.T) {
	port := origin(t, hello)
	tests := []struct {
		request string // $H the right Host
		ok      bool
	}{
		{"GET / HTTP/1.1\r\nHost: $H\r\nConnection: close\r\n\r\n", true},
		{"GET / HTTP/1.1\r\nHost: A.TEST\r\nConnection: close\r\n\r\n", true},
		{"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: evil.test:80\r\n\r\n", false},
		{"GET / HTTP/1.1\nHost: evil.test\n\n", false},
		{"GET / HTTP/1.1\r\nX: y\r\nhost:evil.test\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: $H\r\nHost: evil.test\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost : evil.test\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost:\r\n evil.test\r\n\r\n", false},
		{"GET http://evil.test/ HTTP/1.1\r\nHost: $H\r\n\r\n", false},
		{"CONNECT evil.test:80 HTTP/1.1\r\nHost: $H\r\n\r\n", false},
		{"PROPFIND / HTTP/1.1\r\nHost: evil.test\r\n\r\n", false},
		{"GeT / HTTP/1.1\r\nHost: evil.test\r\n\r\n", false},
		{"\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", false},
		{"GET / http/1.1\r\nHost: evil.test\r\n\r\n", false},
		{"GET /a b HTTP/1.1\r\nHost: evil.test\r\n\r\n", false},
		{"x!1 / HTTP/1.1\r\nHost: evil.test\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: a.test\x00.evil.test\r\n\r\n", false},
	}
	for _, tt := range tests {
		w := newWorld(t, "a.test")
		request := strings.ReplaceAll(tt.request, "$H", "a.test:"+port)
		for name, c := range map[string]*net.TCPConn{
			"captured": w.capture("a.test:" + port), "CONNECT": w.connect("a.test:" + port), "SOCKS5": w.openTunnel("SOCKS5", "a.test", port),
		} {
			for _, b := range []byte(request) { // one byte at a time
				_, _ = c.Write([]byte{b})
			}
			b, _ := io.ReadAll(c)
			got := string(b)
			// The HTTP server of captured connections, and an origin that empty
			// lines reach before there is a request to judge, answer by themselves.
			itself := name == "captured" || strings.HasPrefix(request, "\r\n")
			refused := strings.HasPrefix(got, "HTTP/1.1 403 ") || itself && (strings.HasPrefix(got, "HTTP/1.1 400 ") || strings.HasPrefix(got, "HTTP/1.1 505 "))
			if tt.ok != strings.HasPrefix(got, "HTTP/1.1 200 ") || tt.ok == refused {
				t.Errorf("%s: %q: %.100q", name, request, got)
			}
		}
	}
}

// The reason for a refused ssh comes through SSH: by SOCKS, captured, and by a
// CONNECT whose client has spoken already.
func TestSSHRefusal(t *testing.T) {
	w := newWorld(t, "a.test")
	socks, code := w.socks("git.test", 22)
	if code != 0 {
		t.Errorf("SOCKS reply %d", code)
	}
	for name, c := range map[string]*net.TCPConn{"SOCKS5": socks, "captured": w.capture("git.test:22")} {
		_, _ = io.WriteString(c, "SSH-2.0-client\r\n")
		if reason, err := readSSHDisconnect(c); err != nil || !strings.Contains(reason, "git.test:22 is denied: no allowedDomains entry matches") {
			t.Errorf("%s: %q, %v", name, reason, err)
		}
	}
	c := w.dial()
	_, _ = io.WriteString(c, "CONNECT git.test:22 HTTP/1.1\r\nHost: x\r\n\r\nSSH-2.0-client\r\n")
	readN(t, c, len("HTTP/1.1 200 Connection established\r\n\r\n"))
	if reason, err := readSSHDisconnect(c); err != nil || !strings.Contains(reason, "git.test:22") {
		t.Errorf("CONNECT: %q, %v", reason, err)
	}
	raw := w.say("CONNECT git.test:22 HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.HasPrefix(raw, "HTTP/1.1 403 ") {
		t.Errorf("a silent CONNECT: %q", raw)
	}
}

func readSSHDisconnect(r io.Reader) (string, error) {
	br := bufio.NewReader(r)
	if line, err := br.ReadString('\n'); err != nil || !strings.HasPrefix(line, "SSH-2.0-") {
		return "", fmt.Errorf("greeting %q: %w", line, err)
	}
	var head [5]byte
	if _, err := io.ReadFull(br, head[:]); err != nil {
		return "", err
	}
	length, padding := int(binary.BigEndian.Uint32(head[:4])), int(head[4])
	if (4+length)%8 != 0 || padding < 4 {
		return "", fmt.Errorf("length %d, padding %d", length, padding)
	}
	body := make([]byte, length-1)
	if _, err := io.ReadFull(br, body); err != nil {
		return "", err
	}
	if body[0] != 1 || binary.BigEndian.Uint32(body[1:]) != 1 {
		return "", errors.New("not a disconnect")
	}
	n := binary.BigEndian.Uint32(body[5:])
	return string(body[9 : 9+n]), nil
}

// ssh itself prints the reason.
func TestSSHPrintsTheRefusal(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		need(t, "ssh")
	}
	w := newWorld(t, "a.test")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			w.ServeCaptured(c, policy.HostPort{Host: "git.test", Port: 22})
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	out, _ := exec.Command("ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no",
		"-o", "UserKnownHostsFile=/dev/null", "-p", port, "127.0.0.1", "true").CombinedOutput()
	if !strings.Contains(string(out), "git.test:22 is denied: no allowedDomains entry matches") {
		t.Errorf("ssh printed %q", out)
	}
}

func FuzzFirstMessage(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
	f.Add([]byte("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"))
	f.Add(clientHello(f, "a.test"))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole := readFirstMessage(b)
		if whole.incomplete {
			return
		}
		// An answer is final: no further byte may change it, or else what was
		// judged would not be what the server reads.
		longer := readFirstMessage(append(append([]byte(nil), b...), "\r\nHost: evil\r\n\r\n"...))
		if longer.proto != whole.proto || fmt.Sprint(longer.hosts) != fmt.Sprint(whole.hosts) || longer.incomplete {
			t.Fatalf("%q: %+v, with more bytes %+v", b, whole, longer)
		}
	})
}

func clientHello(t testing.TB, name string) []byte {
	t.Helper()
	client, server := net.Pipe()
	go func() {
		_ = tls.Client(client, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake()
	}()
	buf := make([]byte, 16<<10)
	n, err := server.Read(buf)
	_ = server.Close()
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

func TestReadClientHello(t *testing.T) {
	hello := clientHello(t, "a.test")
	if m := readFirstMessage(hello); m.proto != protoTLS || m.incomplete || m.err != nil || len(m.hosts) != 1 || m.hosts[0] != "a.test" {
		t.Errorf("%+v", m)
	}
	for n := range hello {
		if m := readFirstMessage(hello[:n]); !m.incomplete {
			t.Fatalf("%d of %d bytes: %+v", n, len(hello), m)
		}
	}
	// The same hello over two records.
	half := 5 + (len(hello)-5)/2
	split := append([]byte(nil), record(hello[5:half])...)
	split = append(split, record(hello[half:])...)
	if m := readFirstMessage(split); m.incomplete || len(m.hosts) != 1 || m.hosts[0] != "a.test" {
		t.Errorf("two records: %+v", m)
	}
	bad := append([]byte(nil), hello...)
	bad[5] = 2 // a ServerHello
	if m := readFirstMessage(bad); m.err == nil {
		t.Errorf("not a ClientHello: %+v", m)
	}
}

func record(b []byte) []byte {
	return append([]byte{tlsHandshake, 3, 1, byte(len(b) >> 8), byte(len(b))}, b...)
}

// Each request of a captured connection is judged, over the one connection that
// was made for the first.
func TestCapturedHTTPIsJudgedByRequest(t *testing.T) {
	var opened atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(hello))
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	w := newWorld(t, "a.test", "b.test")
	c := w.capture("a.test:" + port)
	br := bufio.NewReader(c)
	for i, tt := range []struct {
		host string
		code int
	}{{"a.test:" + port, 200}, {"A.test.", 200}, {"b.test", 200}, {"evil.test", 403}} {
		fmt.Fprintf(c, "GET /%d HTTP/1.1\r\nHost: %s\r\n\r\n", i, tt.host)
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatalf("%s: %v", tt.host, err)
		}
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != tt.code || tt.code == 200 && (resp.Header.Get("X-Host") != tt.host || string(body) != fmt.Sprintf("hello /%d", i)) {
			t.Errorf("%s: %s %q %q", tt.host, resp.Status, resp.Header.Get("X-Host"), body)
		}
		if i == 0 && opened.Load() != 1 {
			t.Errorf("%d connections for one request", opened.Load())
		}
	}
	if v := w.lastViolation(); v.Target != "a.test:"+port || !strings.Contains(v.Reason, "names evil.test") {
		t.Errorf("%+v", v)
	}
	c = w.capture("a.test:" + port) // HTTP/1.0 names no host
	_, _ = io.WriteString(c, "GET /old HTTP/1.0\r\n\r\n")
	if b, _ := io.ReadAll(c); !strings.HasSuffix(string(b), "hello /old") {
		t.Errorf("HTTP/1.0: %q", b)
	}
	eventually(t, "everything ended", func() bool { return len(w.registered()) == 0 })
}

func TestCapturedUpgrade(t *testing.T) {
	port := tcpOrigin(t, func(c *net.TCPConn) {
		br := bufio.NewReader(c)
		if _, err := http.ReadRequest(br); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		_, _ = io.Copy(c, br)
	})
	w := newWorld(t, "a.test")
	c := w.capture("a.test:" + port)
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nping")
	_ = c.CloseWrite()
	if b, _ := io.ReadAll(c); !strings.HasSuffix(string(b), "\r\n\r\nping") {
		t.Errorf("%q", b)
	}
}

func TestCapturedDenialsSpeakHTTP(t *testing.T) {
	w := newWorld(t, "a.test")
	c := w.capture("evil.test:80")
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n")
	b, _ := io.ReadAll(c)
	resp, body := parseResponse(t, string(b))
	if resp.StatusCode != 403 || !strings.Contains(body, "evil.test:80 is denied") {
		t.Errorf("%q", b)
	}
}

// A protocol whose first word waits for its answer is not held back.
func TestFirstWordIsNotHeldBack(t *testing.T) {
	port := tcpOrigin(t, func(c *net.TCPConn) {
		_, _ = io.ReadFull(c, make([]byte, len("JDWP-Handshake")))
		_, _ = io.WriteString(c, "JDWP-Handshake")
	})
	w := newWorld(t, "a.test")
	for name, c := range map[string]*net.TCPConn{"captured": w.capture("a.test:" + port), "CONNECT": w.connect("a.test:" + port)} {
		_, _ = io.WriteString(c, "JDWP-Handshake")
		if got := readN(t, c, len("JDWP-Handshake")); got != "JDWP-Handshake" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
