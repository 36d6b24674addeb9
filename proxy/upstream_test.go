package proxy

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gosrt/gosrt/policy"
)

// upstreamProxy is a small HTTP proxy that connects everything to one port and
// records the request lines it saw.
func upstreamProxy(t testing.TB, target string) (addr string, seen chan string) {
	seen = make(chan string, 16)
	port := tcpOrigin(t, func(c *net.TCPConn) {
		br := bufio.NewReader(c)
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		seen <- fmt.Sprintf("%s %s %s", req.Method, req.RequestURI, req.Header.Get("Proxy-Authorization"))
		switch {
		case strings.Contains(req.RequestURI, "refused"):
			_, _ = io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
			return
		case req.Method != "CONNECT":
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nupstream")
			return
		}
		out, err := net.Dial("tcp", "127.0.0.1:"+target)
		if err != nil {
			return
		}
		defer out.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(out, br); _ = out.(*net.TCPConn).CloseWrite() }()
		_, _ = io.Copy(c, out)
	})
	return "127.0.0.1:" + port, seen
}

func TestUpstreamHTTP(t *testing.T) {
	port := echoOrigin(t)
	addr, seen := upstreamProxy(t, port)
	n := allowing(t, "far.example", "refused.example", "a.test")
	n.Upstream = "http://user:s%40cret@" + addr
	w := startWorld(t, n)
	auth := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:s@cret"))
	for _, entrance := range tunnels {
		c := w.openTunnel(entrance, "FAR.example.", "443")
		_, _ = io.WriteString(c, "ping")
		_ = c.CloseWrite()
		if b, _ := io.ReadAll(c); string(b) != "ping" {
			t.Errorf("%s: %q", entrance, b)
		}
		if s := <-seen; s != "CONNECT far.example:443 "+auth {
			t.Errorf("%s: the upstream saw %q", entrance, s)
		}
	}
	_, body := parseResponse(t, w.say("GET http://far.example/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
	if s := <-seen; body != "upstream" || s != "GET http://far.example/x "+auth {
		t.Errorf("plain: %q, the upstream saw %q", body, s)
	}
	// Our own decision comes first, a refusal says whose it is, and no password shows.
	raw := w.say("CONNECT denied.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.HasPrefix(raw, "HTTP/1.1 403 ") || len(seen) > 0 {
		t.Errorf("denied: %q", raw)
	}
	raw = w.say("CONNECT refused.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.HasPrefix(raw, "HTTP/1.1 502 ") || !strings.Contains(raw, "upstream") || !strings.Contains(raw, "407") || strings.Contains(raw, "cret") {
		t.Errorf("refused: %q", raw)
	}
	<-seen
	// A name that the policy answers does not go through the upstream.
	c := w.connect("a.test:" + port)
	_, _ = io.WriteString(c, "x")
	readN(t, c, 1)
	if len(seen) > 0 || len(w.lookedUp()) > 0 {
		t.Errorf("the upstream saw %d, looked up %v", len(seen), w.lookedUp())
	}
}

func TestUpstreamSOCKS(t *testing.T) {
	port := echoOrigin(t)
	second := newWorld(t, "far.test") // another gosrt serves as the upstream
	n := allowing(t, "far.test", "other.example")
	n.Hosts = nil
	n.Upstream = "socks5://" + second.addr
	w := startWorld(t, n)
	for _, entrance := range tunnels {
		c := w.openTunnel(entrance, "far.test", port)
		_, _ = io.WriteString(c, "ping")
		_ = c.CloseWrite()
		if b, _ := io.ReadAll(c); string(b) != "ping" {
			t.Errorf("%s: %q", entrance, b)
		}
	}
	if _, code := w.socks("other.example", 80); code != 4 {
		t.Errorf("refused by the upstream: reply %d", code)
	}
	if got := w.lookedUp(); len(got) > 0 {
		t.Errorf("looked up %v", got)
	}
	// Plain HTTP goes through a SOCKS upstream as well.
	hport := origin(t, hello)
	if _, body := parseResponse(t, w.say("GET http://far.test:"+hport+"/z HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")); body != "hello /z" {
		t.Errorf("plain: %q", body)
	}
}

func TestUpstreamFromEnvironment(t *testing.T) {
	env := map[string]string{
		"https_proxy": "tunnel.example:8080", "HTTP_PROXY": "http://plain.example", "NO_PROXY": "direct.example,.corp.example,10.0.0.0/8",
	}
	s := &Server{UpstreamEnv: func(name string) string { return env[name] }}
	up, err := s.upstreamOf(policy.Network{Upstream: "env"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		dest  string
		plain bool
		want  string
	}{
		{"far.example:443", false, "tunnel.example:8080"},
		{"far.example:80", true, "plain.example:80"},
		{"direct.example:443", false, ""},
		{"x.corp.example:443", false, ""},
		{"10.1.2.3:443", false, ""},
		{"localhost:80", true, ""},
		{"127.0.0.1:80", false, ""},
	}
	for _, tt := range tests {
		h, _ := policy.ParseHostPort(tt.dest)
		got := ""
		if via := up.route(policy.Network{}, h, tt.plain); via != nil {
			got = via.proxy.String()
		}
		if got != tt.want {
			t.Errorf("%s: through %q, want %q", tt.dest, got, tt.want)
		}
	}
	if up, err := s.upstreamOf(policy.Network{}); err != nil || up.tunnel != nil {
		t.Errorf("without upstream the environment counts: %+v, %v", up, err)
	}
}

// A mistyped upstream is an error and never a direct connection.
func TestBrokenUpstreamFailsClosed(t *testing.T) {
	port := echoOrigin(t)
	for _, text := range []string{"htp://u:hunter2@proxy", "ftp://u:hunter2@proxy", "http://", "http://u:hunter2@bad host", "http://u:hunter2@p:99999", "://", "socks4://p"} {
		n := allowing(t, "a.test")
		n.Upstream = text
		s := &Server{Network: n}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		err = s.Serve(l)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: Serve: %v", text, err)
		}
		client, server := tcpPair(t)
		_ = client.SetDeadline(time.Now().Add(patience))
		go s.ServeConn(server)
		fmt.Fprintf(client, "CONNECT a.test:%s HTTP/1.1\r\nHost: x\r\n\r\n", port)
		b, _ := io.ReadAll(client)
		if !strings.HasPrefix(string(b), "HTTP/1.1 502 ") || strings.Contains(string(b), "hunter2") {
			t.Errorf("%q: %q", text, b)
		}
		_ = client.Close()
		_ = s.Close()
	}
}

func TestConnectClient(t *testing.T) {
	port := echoOrigin(t)
	w := newWorld(t, "a.test")
	dest, _ := policy.ParseHostPort("a.test:" + port)
	c, err := Connect(context.Background(), w.addr, dest)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "x")
	readN(t, c, 1)
	denied, _ := policy.ParseHostPort("b.test:" + port)
	_, err = Connect(context.Background(), w.addr, denied)
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Rule != "default" || !strings.Contains(refused.Text, "b.test:"+port) {
		t.Errorf("%v", err)
	}
	// A proxy that never answers does not hold the caller beyond its context.
	silent := tcpOrigin(t, func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) })
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := Connect(ctx, "127.0.0.1:"+silent, dest); err == nil {
		t.Error("a silent proxy connected")
	}
	// Bytes behind the answer are kept.
	eager := tcpOrigin(t, func(c *net.TCPConn) {
		_, _ = bufio.NewReader(c).ReadString('\n')
		_, _ = io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nhello")
	})
	c, err = Connect(context.Background(), "127.0.0.1:"+eager, dest)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := readN(t, c, 5); got != "hello" {
		t.Errorf("%q", got)
	}
}
