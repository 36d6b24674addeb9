package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"
)

// rawOrigin answers each connection with a fixed text and hands out what it got.
func rawOrigin(t testing.TB, response string) (port string, requests chan string) {
	requests = make(chan string, 16)
	port = tcpOrigin(t, func(c *net.TCPConn) {
		br := bufio.NewReader(c)
		var head strings.Builder
		for {
			line, err := br.ReadString('\n')
			head.WriteString(line)
			if err != nil || line == "\r\n" {
				break
			}
		}
		requests <- head.String()
		_, _ = io.WriteString(c, response)
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, br)
	})
	return port, requests
}

// The request reaches the origin in origin form, with the host that was judged,
// without hop-by-hop headers and without anything the proxy made up.
func TestRequestHeaders(t *testing.T) {
	port, requests := rawOrigin(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=5\r\nX-Drop: 1\r\nConnection: X-Drop\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nProxy-Authenticate: Basic\r\n\r\nok")
	w := newWorld(t, "a.test")
	raw := w.say("GET http://A.test:" + port + "/p?q=%2f HTTP/1.1\r\nHost: evil.test\r\nAccept: */*\r\nX-Bar: 2\r\nX-Bar: 3\r\n" +
		"Proxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\nKeep-Alive: 1\r\nTE: trailers, gzip\r\nX-Hop: 1\r\nConnection: close, X-Hop\r\n\r\n")
	head := <-requests
	want := "GET /p?q=%2f HTTP/1.1\r\nHost: a.test:" + port + "\r\n"
	if !strings.HasPrefix(head, want) {
		t.Errorf("the origin got %q", head)
	}
	for _, has := range []string{"Accept: */*\r\n", "X-Bar: 2\r\nX-Bar: 3\r\n", "Te: trailers\r\n"} {
		if !strings.Contains(head, has) {
			t.Errorf("the origin did not get %q: %q", has, head)
		}
	}
	for _, not := range []string{"Proxy-", "Keep-Alive", "X-Hop", "Accept-Encoding", "User-Agent", "evil", "Via", "Forwarded", "gzip"} {
		if strings.Contains(head, not) {
			t.Errorf("the origin got %q: %q", not, head)
		}
	}
	resp, body := parseResponse(t, raw)
	if body != "ok" || len(resp.Header["Set-Cookie"]) != 2 {
		t.Errorf("%q %v", body, resp.Header)
	}
	for _, not := range []string{"Keep-Alive", "X-Drop", "Proxy-Authenticate"} {
		if resp.Header.Get(not) != "" {
			t.Errorf("the client got %s: %v", not, resp.Header)
		}
	}
}

// A compressed body stays as the origin sent it.
func TestBodyIsNotDecoded(t *testing.T) {
	port, _ := rawOrigin(t, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n\x1f\x8bxyz")
	w := newWorld(t, "a.test")
	_, body := parseResponse(t, w.say("GET http://a.test:"+port+"/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
	if body != "\x1f\x8bxyz" {
		t.Errorf("%q", body)
	}
}

// Each chunk arrives when the origin sends it.
func TestChunksAreStreamed(t *testing.T) {
	next := make(chan bool)
	port := origin(t, func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			_, _ = io.WriteString(w, "tick\n")
			w.(http.Flusher).Flush()
			<-next
		}
	})
	w := newWorld(t, "a.test")
	c := w.dial()
	fmt.Fprintf(c, "GET http://a.test:%s/ HTTP/1.1\r\nHost: x\r\n\r\n", port)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if got := readN(t, resp.Body, 5); got != "tick\n" {
			t.Errorf("%q", got)
		}
		next <- true
	}
}

// An upload is streamed as well, in both framings, and trailers cross both ways.
func TestTrailersAndUploads(t *testing.T) {
	got := make(chan string, 2)
	port := origin(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- fmt.Sprintf("%s %s %v", b, r.Trailer.Get("X-Up"), r.TransferEncoding)
		w.Header().Set("Trailer", "X-Down")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Down", "d")
	})
	w := newWorld(t, "a.test")
	raw := w.say("POST http://a.test:" + port + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nTrailer: X-Up\r\n\r\n3\r\nabc\r\n0\r\nX-Up: u\r\n\r\n")
	if s := <-got; s != "abc u [chunked]" {
		t.Errorf("the origin got %q", s)
	}
	resp, body := parseResponse(t, raw)
	if body != "body" || resp.Trailer.Get("X-Down") != "d" {
		t.Errorf("%q, trailer %v, %q", body, resp.Trailer, raw)
	}
	w.say("POST http://a.test:" + port + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nxyz")
	if s := <-got; s != "xyz  []" {
		t.Errorf("the origin got %q", s)
	}
}

func TestExpectContinue(t *testing.T) {
	port := origin(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = w.Write(b)
	})
	w := newWorld(t, "a.test")
	c := w.dial()
	fmt.Fprintf(c, "POST http://a.test:%s/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n", port)
	br := bufio.NewReader(c)
	if line, err := br.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_, _ = br.ReadString('\n')
	_, _ = io.WriteString(c, "body")
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := readN(t, resp.Body, 4); got != "body" {
		t.Errorf("%q", got)
	}
}

func TestInterimResponses(t *testing.T) {
	port := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</a.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		_, _ = io.WriteString(w, "done")
	})
	w := newWorld(t, "a.test")
	transport := &http.Transport{Proxy: http.ProxyURL(mustURL(t, "http://"+w.addr))}
	defer transport.CloseIdleConnections()
	var hints []string
	req, _ := http.NewRequest("GET", "http://a.test:"+port+"/", nil)
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			hints = append(hints, fmt.Sprint(code, h.Get("Link")))
			return nil
		},
	}))
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "done" || len(hints) != 1 || hints[0] != "103</a.css>" || resp.Header.Get("Link") != "" {
		t.Errorf("%q %v %v", body, hints, resp.Header)
	}
}

// An Upgrade of any name becomes a tunnel in plain HTTP, with early bytes and
// half-close, and ends when either side does.
func TestUpgrade(t *testing.T) {
	port := tcpOrigin(t, func(c *net.TCPConn) {
		br := bufio.NewReader(c)
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		if req.Header.Get("Upgrade") == "no" {
			_, _ = io.WriteString(c, "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno")
			return
		}
		fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: %s\r\nConnection: Upgrade\r\nX-Key: %s\r\n\r\nhi", req.Header.Get("Upgrade"), req.Header.Get("Sec-WebSocket-Key"))
		_, _ = io.Copy(c, br)
		_ = c.CloseWrite()
	})
	w := newWorld(t, "a.test")
	for _, name := range []string{"websocket", "h2c", "tcp"} {
		c := w.dial()
		fmt.Fprintf(c, "GET http://a.test:%s/ HTTP/1.1\r\nHost: x\r\nUpgrade: %s\r\nConnection: Upgrade\r\nSec-WebSocket-Key: k\r\n\r\nearly", port, name)
		_ = c.CloseWrite()
		b, _ := io.ReadAll(c)
		if s := string(b); !strings.HasPrefix(s, "HTTP/1.1 101 Switching Protocols\r\n") || !strings.HasSuffix(s, "\r\n\r\nhiearly") ||
			!strings.Contains(s, "X-Key: k\r\n") || !strings.Contains(s, "Upgrade: "+name+"\r\n") {
			t.Errorf("%s: %q", name, s)
		}
	}
	resp, body := parseResponse(t, w.say("GET http://a.test:"+port+"/ HTTP/1.1\r\nHost: x\r\nUpgrade: no\r\nConnection: Upgrade\r\n\r\n"))
	if resp.StatusCode != 426 || body != "no" || !resp.Close {
		t.Errorf("%s %q", resp.Status, body)
	}
	raw := w.say("GET http://b.test:" + port + "/ HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
	if !strings.HasPrefix(raw, "HTTP/1.1 403 ") {
		t.Errorf("denied: %q", raw)
	}
	eventually(t, "every connection ended", func() bool { return len(w.registered()) == 0 })
}

// A keep-alive connection may name another host in each request, and each is judged.
func TestEachRequestIsJudged(t *testing.T) {
	port := origin(t, hello)
	w := newWorld(t, "a.test", "b.test")
	c := w.dial()
	br := bufio.NewReader(c)
	for _, tt := range []struct {
		host string
		code int
	}{{"a.test", 200}, {"b.test", 200}, {"a.test", 200}, {"c.test", 403}} {
		fmt.Fprintf(c, "GET http://%s:%s/ HTTP/1.1\r\nHost: a.test\r\n\r\n", tt.host, port)
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != tt.code {
			t.Errorf("%s: %s", tt.host, resp.Status)
		}
	}
	if _, err := br.ReadByte(); err != io.EOF {
		t.Errorf("the connection stays open after a denial: %v", err)
	}
}

// The denial can be read by people and by programs.
func TestDenialPage(t *testing.T) {
	n := allowing(t, "*")
	n.Denied = allowing(t, "evil.test").Allowed
	n.Denied[0].Reason = "use the mirror"
	w := startWorld(t, n)
	resp, body := parseResponse(t, w.say("GET http://evil.test/ HTTP/1.1\r\nHost: x\r\n\r\n"))
	if resp.StatusCode != 403 || resp.Header.Get("X-Gosrt-Denied") != "deniedDomains evil.test" || !resp.Close ||
		!strings.Contains(body, "evil.test:80 is denied: use the mirror") || !strings.Contains(body, "rule: deniedDomains evil.test") {
		t.Errorf("%v %q", resp.Header, body)
	}
	if v := w.lastViolation(); v.Operation != "GET" || v.Rule != "deniedDomains evil.test" || v.Kind != "connect" || v.Count != 1 || v.Time.IsZero() {
		t.Errorf("%+v", v)
	}
}

// Text from inside reaches no message unescaped.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a.test:80":               "a.test:80",
		"a\x1b[31m\n\u202eb":      `a\x1b[31m\n\u202eb`,
		`say "hi"`:                `say "hi"`,
		strings.Repeat("x", 5000): strings.Repeat("x", maxPrintable) + "...",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q", in, got)
		}
	}
}

// A response that breaks off is not passed on as complete.
func TestTruncatedResponse(t *testing.T) {
	port, _ := rawOrigin(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
	w := newWorld(t, "a.test")
	raw := w.say("GET http://a.test:" + port + "/ HTTP/1.1\r\nHost: x\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("%q", raw)
	}
	for _, garbage := range []string{"", "garbage\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx"} {
		port, _ := rawOrigin(t, garbage)
		if raw := w.say("GET http://a.test:" + port + "/ HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(raw, "HTTP/1.1 502 ") {
			t.Errorf("origin %q: %q", garbage, raw)
		}
	}
}

// 50 MB through plain HTTP, both ways, whole.
func TestPlainBigBody(t *testing.T) {
	const size = 50 << 20
	port := origin(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		w.Header().Set("X-Got", fmt.Sprint(n))
		_, _ = io.Copy(w, io.LimitReader(newStream(3), size))
	})
	w := newWorld(t, "a.test")
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(mustURL(t, "http://"+w.addr)), DisableKeepAlives: true}}
	resp, err := client.Post("http://a.test:"+port+"/", "x/y", io.LimitReader(newStream(4), size))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	want := newStream(3)
	buf, ref := make([]byte, 1<<20), make([]byte, 1<<20)
	total := 0
	for {
		n, err := io.ReadFull(resp.Body, buf)
		_, _ = io.ReadFull(want, ref[:n])
		if !bytes.Equal(buf[:n], ref[:n]) {
			t.Fatalf("the body differs after %d bytes", total)
		}
		if total += n; err != nil {
			break
		}
	}
	if total != size || resp.Header.Get("X-Got") != fmt.Sprint(size) {
		t.Errorf("down %d, up %s", total, resp.Header.Get("X-Got"))
	}
}
