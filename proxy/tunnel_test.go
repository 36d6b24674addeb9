package proxy

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gosrt/gosrt/policy"
)

// openTunnel opens one through the named entrance.
func (w *world) openTunnel(entrance, host, port string) *net.TCPConn {
	w.t.Helper()
	if entrance == "CONNECT" {
		return w.connect(host + ":" + port)
	}
	c, code := w.socks(host, mustAtoi(w.t, port))
	if code != 0 {
		w.t.Fatalf("SOCKS reply %d", code)
	}
	return c
}

var tunnels = []string{"CONNECT", "SOCKS5"}

// The reply that comes after the client's half-close arrives, whole.
func TestHalfClose(t *testing.T) {
	port := tcpOrigin(t, func(c *net.TCPConn) {
		b, _ := io.ReadAll(c)
		time.Sleep(100 * time.Millisecond)
		fmt.Fprintf(c, "got %d", len(b))
	})
	w := newWorld(t, "a.test")
	for _, entrance := range tunnels {
		c := w.openTunnel(entrance, "a.test", port)
		_, _ = c.Write(make([]byte, 1000))
		_ = c.CloseWrite()
		if b, err := io.ReadAll(c); err != nil || string(b) != "got 1000" {
			t.Errorf("%s: %q, %v", entrance, b, err)
		}
	}
}

// The server's half-close leaves the other direction open.
func TestServerHalfClose(t *testing.T) {
	got := make(chan string, 1)
	port := tcpOrigin(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "bye")
		_ = c.CloseWrite()
		b, _ := io.ReadAll(c)
		got <- string(b)
	})
	w := newWorld(t, "a.test")
	for _, entrance := range tunnels {
		c := w.openTunnel(entrance, "a.test", port)
		if b, err := io.ReadAll(c); err != nil || string(b) != "bye" {
			t.Errorf("%s: %q, %v", entrance, b, err)
		}
		_, _ = io.WriteString(c, "still here")
		_ = c.CloseWrite()
		if s := <-got; s != "still here" {
			t.Errorf("%s: the server got %q", entrance, s)
		}
	}
}

// Bytes sent along with the handshake are not lost, nor is a half-close that
// came with them.
func TestEarlyData(t *testing.T) {
	port := echoOrigin(t)
	w := newWorld(t, "a.test")
	big := strings.Repeat("0123456789abcdef", 16<<10)
	raw := make(chan string, 1)
	c := w.dial()
	go func() {
		b, _ := io.ReadAll(c)
		raw <- string(b)
	}()
	_, _ = io.WriteString(c, "CONNECT a.test:"+port+" HTTP/1.1\r\nHost: x\r\n\r\n"+big)
	_ = c.CloseWrite()
	if s := <-raw; !strings.HasSuffix(s, "\r\n\r\n"+big) || !strings.HasPrefix(s, "HTTP/1.1 200 ") {
		t.Errorf("CONNECT: %d bytes, want %d", len(s), len(big))
	}
	c = w.dial()
	request := append([]byte{5, 1, 0}, socksRequest(1, "a.test", mustAtoi(t, port))...)
	_, _ = c.Write(append(request, "early"...))
	_ = c.CloseWrite()
	if b, _ := io.ReadAll(c); !bytes.HasSuffix(b, []byte("early")) || len(b) != 2+10+5 {
		t.Errorf("SOCKS: %q", b)
	}
}

// 200 MB each way, byte for byte.
func TestBigTransfer(t *testing.T) {
	const size = 200 << 20
	port := tcpOrigin(t, func(c *net.TCPConn) {
		h := sha256.New()
		_, _ = io.Copy(h, c)
		_, _ = c.Write(h.Sum(nil))
		_, _ = io.Copy(c, io.LimitReader(newStream(2), size))
	})
	w := newWorld(t, "a.test")
	for _, entrance := range tunnels {
		c := w.openTunnel(entrance, "a.test", port)
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		up := sha256.New()
		if _, err := io.Copy(c, io.TeeReader(io.LimitReader(newStream(1), size), up)); err != nil {
			t.Fatal(err)
		}
		_ = c.CloseWrite()
		if got := readN(t, c, sha256.Size); got != string(up.Sum(nil)) {
			t.Errorf("%s: the upload differs", entrance)
		}
		down, want := sha256.New(), sha256.New()
		n, _ := io.Copy(down, c)
		_, _ = io.Copy(want, io.LimitReader(newStream(2), size))
		if n != size || !bytes.Equal(down.Sum(nil), want.Sum(nil)) {
			t.Errorf("%s: the download differs after %d bytes", entrance, n)
		}
		eventually(t, "the byte counts", func() bool {
			for _, e := range w.connections() {
				if e.Protocol == entrance && e.Sent == size && e.Received == size+sha256.Size && e.Dest.Host == "a.test" {
					return true
				}
			}
			return false
		})
	}
}

// newStream makes bytes that repeat at no power of two.
func newStream(seed uint64) io.Reader {
	block := make([]byte, 1<<20+7)
	r := rand.NewChaCha8([32]byte{byte(seed)})
	_, _ = r.Read(block)
	return &stream{block: block}
}

type stream struct {
	block []byte
	at    int
}

func (s *stream) Read(p []byte) (int, error) {
	n := copy(p, s.block[s.at:])
	s.at = (s.at + n) % len(s.block)
	return n, nil
}

func openDescriptors(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// A thousand half-closed tunnels, half of them left by clients that are gone
// while the server stays silent: every descriptor comes back.
func TestThousandHalfClosedTunnels(t *testing.T) {
	release := make(chan struct{})
	port := tcpOrigin(t, func(c *net.TCPConn) {
		_, _ = io.Copy(io.Discard, c)
		<-release
	})
	n := allowing(t, "a.test")
	w := &world{t: t}
	w.Server = &Server{Network: n, DrainTimeout: 300 * time.Millisecond}
	w.serve()
	before := openDescriptors(t)
	for i := range 1000 {
		c := w.openTunnel(tunnels[i%2], "a.test", port)
		if i%4 < 2 {
			_ = c.CloseWrite()
		} else {
			_ = c.Close()
		}
		if i%4 < 2 {
			defer c.Close()
		}
	}
	eventually(t, "the proxy let go of every tunnel", func() bool { return len(w.registered()) == 0 })
	close(release)
	eventually(t, "descriptors back", func() bool { return openDescriptors(t) <= before+505 })
}

func (s *Server) registered() []*endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*endpoint
	for e := range s.endpoints {
		list = append(list, e)
	}
	return list
}

// An idle tunnel ends, one that trickles below the limit does not.
func TestIdleTunnelsEnd(t *testing.T) {
	const limit = 2 * time.Second
	port := echoOrigin(t)
	w := &world{t: t}
	w.Server = &Server{Network: allowing(t, "a.test"), IdleTimeout: limit}
	w.serve()
	for _, entrance := range tunnels {
		t.Run(entrance, func(t *testing.T) {
			t.Parallel()
			busy, idle := w.openTunnel(entrance, "a.test", port), w.openTunnel(entrance, "a.test", port)
			defer busy.Close()
			_, _ = io.WriteString(idle, "x")
			readN(t, idle, 1)
			for began := time.Now(); time.Since(began) < 2*limit; time.Sleep(limit / 20) {
				_, _ = io.WriteString(busy, "x")
				readN(t, busy, 1)
			}
			_ = idle.SetReadDeadline(time.Now().Add(patience))
			if _, err := idle.Read(make([]byte, 1)); err == nil || isTimeout(err) {
				t.Errorf("the idle tunnel is still open: %v", err)
			}
		})
	}
}

// A peer that resets at any point leaks nothing.
func TestResetAtAnyPoint(t *testing.T) {
	port := echoOrigin(t)
	w := newWorld(t, "a.test")
	connect := "CONNECT a.test:" + port + " HTTP/1.1\r\nHost: x\r\n\r\nhello"
	plain := "POST http://a.test:" + port + "/ HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc"
	socks := string(append([]byte{5, 1, 0}, socksRequest(1, "a.test", mustAtoi(t, port))...)) + "hello"
	for _, text := range []string{connect, plain, socks} {
		for n := 0; n <= len(text); n += 3 {
			c := w.dial()
			_, _ = io.WriteString(c, text[:n])
			if n%2 == 0 {
				time.Sleep(time.Millisecond)
			}
			_ = c.SetLinger(0)
			_ = c.Close()
		}
	}
	eventually(t, "the proxy let go of everything", func() bool { return len(w.registered()) == 0 })
	c := w.connect("a.test:" + port) // the control: it still serves
	_, _ = io.WriteString(c, "x")
	readN(t, c, 1)
}

// A server that resets ends the client's side too.
func TestServerReset(t *testing.T) {
	port := tcpOrigin(t, func(c *net.TCPConn) {
		_, _ = io.ReadFull(c, make([]byte, 1))
		_ = c.SetLinger(0)
	})
	w := newWorld(t, "a.test")
	for _, entrance := range tunnels {
		c := w.openTunnel(entrance, "a.test", port)
		_, _ = io.WriteString(c, "x")
		if _, err := c.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Errorf("%s: %v", entrance, err)
		}
	}
}

// Clients that never finish their handshake are let go, and meanwhile others
// are served.
func TestSlowLoris(t *testing.T) {
	if handshakeTimeout > 10*time.Second {
		t.Fatalf("handshake timeout %v", handshakeTimeout)
	}
	port := echoOrigin(t)
	w := newWorld(t, "a.test")
	starts := []string{"", "G", "CONNECT a.test:1 HT", "GET http://a.test/ HTTP/1.1\r\nHost: x\r\nX: ", "\x05", "\x05\x01", "\x05\x01\x00\x05\x01"}
	var slow []*net.TCPConn
	for i := range 200 {
		c := w.dial()
		_, _ = io.WriteString(c, starts[i%len(starts)])
		slow = append(slow, c)
	}
	c := w.connect("a.test:" + port)
	_, _ = io.WriteString(c, "x")
	readN(t, c, 1)
	_ = c.Close()
	var wg sync.WaitGroup
	begin := time.Now()
	for _, c := range slow {
		wg.Go(func() {
			_ = c.SetReadDeadline(begin.Add(handshakeTimeout + patience))
			if _, err := io.Copy(io.Discard, c); err != nil && isTimeout(err) {
				t.Errorf("still open after %v", time.Since(begin))
			}
		})
	}
	wg.Wait()
}

func TestHeaderTooLarge(t *testing.T) {
	w := newWorld(t, "a.test")
	raw := w.say("GET http://a.test/ HTTP/1.1\r\nHost: x\r\nX-Big: " + strings.Repeat("a", 128<<10) + "\r\n\r\n")
	if !strings.HasPrefix(raw, "HTTP/1.1 431 ") {
		t.Errorf("%.100q", raw)
	}
}

// A tightened policy ends the tunnels it forbids and no others; Close ends all.
func TestTighteningEndsTunnels(t *testing.T) {
	port := echoOrigin(t)
	w := newWorld(t, "a.test", "b.test")
	type open struct {
		host string
		c    *net.TCPConn
	}
	var list []open
	for _, entrance := range tunnels {
		for _, host := range []string{"a.test", "b.test"} {
			c := w.openTunnel(entrance, host, port)
			_, _ = io.WriteString(c, "x")
			readN(t, c, 1)
			list = append(list, open{host, c})
		}
	}
	if err := w.SetNetwork(allowing(t, "b.test")); err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		_, _ = io.WriteString(o.c, "y")
		_, err := io.ReadFull(o.c, make([]byte, 1))
		if (err == nil) != (o.host == "b.test") {
			t.Errorf("%s after the tightening: %v", o.host, err)
		}
	}
	if _, code := w.socks("a.test", mustAtoi(t, port)); code != 2 {
		t.Errorf("a.test is still served: reply %d", code)
	}
	bad := policy.Network{Upstream: "gopher://x"}
	if err := w.SetNetwork(bad); err == nil {
		t.Error("a broken upstream was taken")
	}
	if _, code := w.socks("b.test", mustAtoi(t, port)); code != 0 {
		t.Errorf("a broken update changed the policy: reply %d", code)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	port := echoOrigin(t)
	w := newWorld(t, "a.test")
	var list []*net.TCPConn
	for _, entrance := range tunnels {
		list = append(list, w.openTunnel(entrance, "a.test", port))
	}
	list = append(list, w.dial())
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if _, err := io.Copy(io.Discard, c); isTimeout(err) {
			t.Error("still open after Close")
		}
	}
	if n := len(w.registered()); n != 0 {
		t.Errorf("%d endpoints after Close", n)
	}
	if err := w.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

func TestServersAreSeparate(t *testing.T) {
	port := echoOrigin(t)
	a, b := newWorld(t, "a.test"), newWorld(t, "b.test")
	for _, tt := range []struct {
		w    *world
		host string
		want byte
	}{{a, "a.test", 0}, {a, "b.test", 2}, {b, "a.test", 2}, {b, "b.test", 0}} {
		if _, code := tt.w.socks(tt.host, mustAtoi(t, port)); code != tt.want {
			t.Errorf("%s: reply %d, want %d", tt.host, code, tt.want)
		}
	}
}
