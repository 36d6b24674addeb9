package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gosrt/gosrt/policy"
)

// net/http waits half a second before it closes a connection it has refused,
// which is longer than goleak does.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// world is a Server with its listener, a resolver that knows some names, and a
// record of what happened.
type world struct {
	*Server
	t    *testing.T
	addr string // of the proxy

	mu         sync.Mutex
	names      map[string][]netip.Addr
	lookups    []string
	violations []policy.Violation
	ended      []Connection
}

var loopback4 = netip.MustParseAddr("127.0.0.1")

// newWorld allows the given entries. Each allowed name without a wildcard
// answers 127.0.0.1 from the policy, because no resolver may say so.
func newWorld(t *testing.T, allow ...string) *world {
	t.Helper()
	return startWorld(t, allowing(t, allow...))
}

func allowing(t testing.TB, allow ...string) policy.Network {
	t.Helper()
	var n policy.Network
	for _, text := range allow {
		p, err := policy.ParseHostPattern(text)
		if err != nil {
			t.Fatal(err)
		}
		n.Allowed = append(n.Allowed, policy.HostRule{Text: text, Pattern: p})
		if p.Host != "" && !p.Sub && !p.Middle && strings.HasSuffix(p.Host, ".test") {
			n.Hosts = append(n.Hosts, policy.HostEntry{Name: p.Host, Addrs: []netip.Addr{loopback4}})
		}
	}
	return n
}

func startWorld(t *testing.T, n policy.Network) *world {
	t.Helper()
	w := &world{t: t, names: map[string][]netip.Addr{}}
	w.Server = &Server{
		Network: n,
		Resolve: w.lookup,
		OnViolation: func(v policy.Violation) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.violations = append(w.violations, v)
		},
		OnConnect: func(c Connection) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ended = append(w.ended, c)
		},
	}
	w.serve()
	return w
}

func (w *world) serve() {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.addr = l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- w.Serve(l) }()
	w.t.Cleanup(func() {
		if err := w.Close(); err != nil {
			w.t.Errorf("Close: %v", err)
		}
		if err := <-done; err != nil {
			w.t.Errorf("Serve: %v", err)
		}
	})
}

func (w *world) lookup(_ context.Context, name string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookups = append(w.lookups, name)
	if addrs, ok := w.names[name]; ok {
		return addrs, nil
	}
	return nil, errors.New("no such host at resolver 192.0.2.53")
}

func (w *world) lastViolation() policy.Violation {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.violations) == 0 {
		return policy.Violation{}
	}
	return w.violations[len(w.violations)-1]
}

func (w *world) lookedUp() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.lookups...)
}

func (w *world) connections() []Connection {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Connection(nil), w.ended...)
}

// dial connects to the proxy with a deadline on everything.
func (w *world) dial() *net.TCPConn {
	w.t.Helper()
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	w.t.Cleanup(func() { _ = c.Close() })
	return c.(*net.TCPConn)
}

// say sends text on a fresh connection and returns all that comes back.
func (w *world) say(text string) string {
	w.t.Helper()
	c := w.dial()
	_, _ = io.WriteString(c, text)
	b, _ := io.ReadAll(c)
	return string(b)
}

// connect opens a CONNECT tunnel or fails the test.
func (w *world) connect(hostport string) *net.TCPConn {
	w.t.Helper()
	c := w.dial()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", hostport, hostport)
	want := "HTTP/1.1 200 Connection established\r\n\r\n"
	if got := readN(w.t, c, len(want)); got != want {
		rest, _ := io.ReadAll(c)
		w.t.Fatalf("CONNECT %s: %q%q", hostport, got, rest)
	}
	return c
}

func readN(t testing.TB, r io.Reader, n int) string {
	t.Helper()
	b := make([]byte, n)
	m, err := io.ReadFull(r, b)
	if err != nil {
		t.Errorf("read %d of %d bytes: %v", m, n, err)
	}
	return string(b[:m])
}

// socks opens a SOCKS5 connection by name and returns the reply code.
func (w *world) socks(host string, port int) (*net.TCPConn, byte) {
	w.t.Helper()
	return w.socksRaw(socksRequest(1, host, port))
}

func socksRequest(cmd byte, host string, port int) []byte {
	req := []byte{5, cmd, 0}
	if a, err := netip.ParseAddr(host); err == nil && a.Zone() == "" {
		kind := byte(4)
		if a.Is4() {
			kind = 1
		}
		req = append(append(req, kind), a.AsSlice()...)
	} else {
		req = append(append(req, 3, byte(len(host))), host...)
	}
	return append(req, byte(port>>8), byte(port))
}

func (w *world) socksRaw(req []byte) (*net.TCPConn, byte) {
	w.t.Helper()
	c := w.dial()
	_, _ = c.Write([]byte{5, 1, 0})
	if got := readN(w.t, c, 2); got != "\x05\x00" {
		w.t.Fatalf("SOCKS method reply %q", got)
	}
	_, _ = c.Write(req)
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return c, 0xff
	}
	readN(w.t, c, 6)
	return c, head[1]
}

// origin starts an HTTP server and returns its port.
func origin(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	return port
}

// tcpOrigin runs handle on each connection and returns the port.
func tcpOrigin(t testing.TB, handle func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				handle(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func echoOrigin(t testing.TB) string {
	return tcpOrigin(t, func(c *net.TCPConn) {
		_, _ = io.Copy(c, c)
		_ = c.CloseWrite()
	})
}

func mustAtoi(t testing.TB, s string) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func parseResponse(t testing.TB, text string) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
	if err != nil {
		t.Fatalf("response %q: %v", text, err)
	}
	body, _ := io.ReadAll(resp.Body)
	return resp, string(body)
}

// patience is how long a test waits for what must happen. Only a failure takes
// that long.
const patience = time.Minute

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Errorf("not within %v: %s", patience, what)
			return
		}
	}
}

func portBytes(t testing.TB, port string) []byte {
	n := mustAtoi(t, port)
	return []byte{byte(n >> 8), byte(n)}
}

// need skips a test whose tool is missing, and fails it where everything must run.
func need(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("GOSRT_TEST_NEED") == "all" {
		t.Fatalf("needs %s", what)
	}
	t.Skipf("needs %s", what)
}
