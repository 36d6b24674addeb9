package proxy

import (
	"context"
	"io"
	"net"
	"net/netip"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gosrt/gosrt/policy"
)

func addrs(texts ...string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

// A name that turns to a closed address is refused on every entrance, with the
// class and never the address. The control is the same name on a literal that
// the policy names.
func TestResolvedAddresses(t *testing.T) {
	port := echoOrigin(t)
	tests := []struct {
		name    string
		answers []netip.Addr
		literal string // allowed beside the name
		class   string // empty: reached
	}{
		{"loopback", addrs("127.0.0.1"), "", "loopback"},
		{"loopback, named", addrs("127.0.0.1"), "127.0.0.1", ""},
		{"loopback, named on another port", addrs("127.0.0.1"), "127.0.0.1:1", "loopback"},
		{"mapped", addrs("::ffff:127.0.0.1"), "", "loopback"},
		{"IPv6 loopback", addrs("::1"), "", "loopback"},
		{"unspecified", addrs("0.0.0.0"), "", "unspecified"},
		{"metadata", addrs("169.254.169.254"), "", "metadata"},
		{"NAT64 of metadata", addrs("64:ff9b::a9fe:a9fe"), "", "metadata"},
		{"own address", addrs("198.51.100.9"), "", "own addresses"},
		{"mixed, one passes", addrs("169.254.169.254", "127.0.0.1"), "127.0.0.1", ""},
		{"mixed, none passes", addrs("169.254.169.254", "127.0.0.1"), "", "loopback"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			allow := []string{"rebind.example"}
			if tt.literal != "" {
				allow = append(allow, tt.literal)
			}
			n := allowing(t, allow...)
			n.SNIIgnored = true
			w := startWorld(t, n)
			w.OwnAddrs = func() []netip.Addr { return addrs("198.51.100.9") }
			w.names["rebind.example"] = tt.answers
			_, code := w.socks("rebind.example", mustAtoi(t, port))
			_, raw := w.tryHTTP("CONNECT rebind.example:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n")
			if tt.class == "" {
				if code != 0 || !strings.HasPrefix(raw, "HTTP/1.1 200 ") {
					t.Errorf("SOCKS reply %d, CONNECT %q", code, raw)
				}
				return
			}
			if code != 2 || !strings.HasPrefix(raw, "HTTP/1.1 403 ") || !strings.Contains(raw, tt.class) {
				t.Errorf("SOCKS reply %d, CONNECT %q", code, raw)
			}
			for _, a := range tt.answers {
				if strings.Contains(raw, a.String()) {
					t.Errorf("the answer tells the address: %q", raw)
				}
			}
		})
	}
}

// A resolver that answers differently each time cannot get a second look: the
// address that was classified is the address that is dialled.
func TestRebindingResolverIsAskedOnce(t *testing.T) {
	port := echoOrigin(t)
	n := allowing(t, "rebind.example", "127.0.0.1:"+port)
	s := &Server{Network: n}
	calls := 0
	s.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		calls++
		if calls == 1 {
			return addrs("127.0.0.1"), nil
		}
		return addrs("169.254.169.254"), nil
	}
	w := &world{Server: s, t: t}
	w.serve()
	c := w.connect("rebind.example:" + port)
	_, _ = io.WriteString(c, "ping")
	if got := readN(t, c, 4); got != "ping" || calls != 1 {
		t.Errorf("%q after %d look-ups", got, calls)
	}
}

func TestFaultsAreWordedWithoutAddresses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, closedPort, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	w := newWorld(t, "a.test", "nowhere.example")
	tests := []struct {
		target string
		socks  byte
		text   string
	}{
		{"a.test:" + closedPort, 5, "connection refused"},
		{"nowhere.example:80", 4, "the name does not resolve"},
	}
	for _, tt := range tests {
		host, port, _ := net.SplitHostPort(tt.target)
		if _, code := w.socks(host, mustAtoi(t, port)); code != tt.socks {
			t.Errorf("%s: SOCKS reply %d, want %d", tt.target, code, tt.socks)
		}
		for _, request := range []string{
			"CONNECT " + tt.target + " HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://" + tt.target + "/ HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://" + tt.target + "/ HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
		} {
			raw := w.say(request)
			if !strings.HasPrefix(raw, "HTTP/1.1 502 ") || !strings.Contains(raw, tt.text) ||
				strings.Contains(raw, "127.0.0.1") || strings.Contains(raw, "192.0.2.53") {
				t.Errorf("%.30q: %q", request, raw)
			}
		}
	}
}

func TestDialAnyTakesTheNextAddress(t *testing.T) {
	port := mustAtoi(t, echoOrigin(t))
	var candidates []netip.Addr
	for i := range 200 {
		candidates = append(candidates, netip.AddrFrom4([4]byte{127, 0, 1, byte(i + 1)}))
	}
	start := time.Now()
	c, a, err := dialAny(context.Background(), append(candidates, loopback4), uint16(port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// A refusal is not waited out: the 200 would take 50 s.
	if took := time.Since(start); a != loopback4 || took > 100*attemptDelay {
		t.Errorf("reached %v after %v", a, took)
	}
	_, _, err = dialAny(context.Background(), addrs("127.0.0.2", "127.0.0.3"), uint16(port))
	if err == nil || !isRefused(err) {
		t.Errorf("nobody listens: %v", err)
	}
}

func isRefused(err error) bool { return strings.Contains(err.Error(), syscall.ECONNREFUSED.Error()) }

func TestInterleave(t *testing.T) {
	got := interleave(addrs("2001:db8::1", "2001:db8::2", "192.0.2.1"))
	want := addrs("2001:db8::1", "192.0.2.1", "2001:db8::2")
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

func TestAskOnceWhilePending(t *testing.T) {
	port := echoOrigin(t)
	n := allowing(t, "127.0.0.1:"+port)
	n.Ask, n.SNIIgnored = true, true
	var mu sync.Mutex
	asked := map[string]int{}
	release := make(chan struct{})
	w := &world{t: t, names: map[string][]netip.Addr{"yes.example": addrs("127.0.0.1"), "no.example": addrs("127.0.0.1")}}
	w.Server = &Server{Network: n, Resolve: w.lookup, Ask: func(_ context.Context, h policy.HostPort) bool {
		mu.Lock()
		asked[h.String()]++
		mu.Unlock()
		if h.Host == "panic.example" {
			panic("asker")
		}
		<-release
		return h.Host == "yes.example"
	}}
	w.serve()
	codes := make(chan byte, 20)
	var wg sync.WaitGroup
	for range 10 {
		for _, host := range []string{"YES.example.", "no.example"} {
			wg.Go(func() {
				_, code := w.socks(host, mustAtoi(t, port))
				codes <- code
			})
		}
	}
	eventually(t, "all wait for the answers", func() bool { return running("(*Server).ask(") == 20 })
	if got := w.lookedUp(); len(got) > 0 {
		t.Errorf("looked up before the answer: %v", got)
	}
	close(release)
	wg.Wait()
	count := map[byte]int{}
	for range 20 {
		count[<-codes]++
	}
	if count[0] != 10 || count[2] != 10 {
		t.Errorf("replies %v", count)
	}
	if asked["yes.example:"+port] != 1 || asked["no.example:"+port] != 1 {
		t.Errorf("asked %v", asked)
	}
	if _, code := w.socks("panic.example", 80); code != 2 {
		t.Errorf("a panicking asker: reply %d", code)
	}
}

// running counts the goroutines that are in a function.
func running(function string) (n int) {
	var all strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&all, 2)
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, function) {
			n++
		}
	}
	return n
}

func TestAskTimesOut(t *testing.T) {
	n := policy.Network{Ask: true}
	w := &world{t: t}
	block := make(chan struct{})
	defer close(block)
	w.Server = &Server{Network: n, AskTimeout: 50 * time.Millisecond, Ask: func(context.Context, policy.HostPort) bool {
		<-block // does not look at its context
		return true
	}}
	w.serve()
	if _, code := w.socks("slow.example", 80); code != 2 {
		t.Errorf("reply %d", code)
	}
	nobody := startWorld(t, n)
	if _, code := nobody.socks("slow.example", 80); code != 2 {
		t.Errorf("nobody to ask: reply %d", code)
	}
	if v := nobody.lastViolation(); v.Target != "slow.example:"+strconv.Itoa(80) {
		t.Errorf("violation %+v", v)
	}
}
