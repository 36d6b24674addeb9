package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"

	"github.com/elazarl/goproxy"

	"github.com/gosrt/gosrt/policy"
)

// servePlain carries one request in absolute form.
func (s *Server) servePlain(w http.ResponseWriter, r *http.Request, client *endpoint) {
	if client.captured.IsValid() {
		s.serveCapturedHTTP(w, r, client)
		return
	}
	dest, err := plainDest(r)
	if err != nil {
		s.malformed(w, r.RequestURI, r.Method, err)
		return
	}
	req := request{dest: dest, protocol: "HTTP", op: r.Method}
	p, err := s.admit(r.Context(), req)
	if err != nil {
		respond(w, err)
		return
	}
	r.Host = authority(dest) // whatever the client's Host header says
	s.forwardPlain(w, r, p, client)
}

// serveCapturedHTTP carries one request of a captured connection. Its
// destination is the connection's; the Host it names must agree.
func (s *Server) serveCapturedHTTP(w http.ResponseWriter, r *http.Request, client *endpoint) {
	p, err := s.admit(r.Context(), request{dest: client.captured, protocol: "captured", op: "captured " + r.Method})
	if g := s.inspect(p, client); err == nil && g != nil {
		err = g.judge(firstMessage{proto: protoHTTP, hosts: requestHosts(r)})
	}
	if err != nil {
		respond(w, err)
		return
	}
	s.forwardPlain(w, r, p, client)
}

// requestHosts are the hosts that a request names; HTTP/1.0 need not name any.
func requestHosts(r *http.Request) []string {
	hosts := targetHosts(r.Method, r.RequestURI)
	if r.Host != "" {
		hosts = append(hosts, r.Host)
	}
	return hosts
}

// forwardPlain sends an admitted request on.
func (s *Server) forwardPlain(w http.ResponseWriter, r *http.Request, p permit, client *endpoint) {
	r.URL.Scheme, r.URL.Host = "http", authority(p.dest)
	if r.Header.Get("Upgrade") != "" {
		s.relayUpgrade(w, r, p, client)
		return
	}
	p.plain = true
	// net/http ends a request's context at the client's half-close, yet a client
	// that has sent all it will send still wants its answer. When it has left
	// altogether, the drain limit ends the wait.
	ctx := context.WithValue(context.WithoutCancel(r.Context()), permitKey, p)
	ctx = context.WithValue(ctx, requestKey, r.Context())
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: informational(w)})
	s.goproxy.ServeHTTP(flushing{w}, r.WithContext(ctx))
}

// plainDest reads the destination from the request line as it was written.
func plainDest(r *http.Request) (policy.HostPort, error) {
	rest, ok := cutScheme(r.RequestURI)
	switch {
	case !ok && strings.Contains(r.RequestURI, "://"):
		return policy.HostPort{}, errors.New("only http:// is proxied; use CONNECT for anything else")
	case !ok:
		return policy.HostPort{}, errors.New("this is a proxy; send the request in absolute form")
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	if !hasPort(rest) {
		rest += ":80"
	}
	return policy.ParseHostPort(rest)
}

func cutScheme(uri string) (rest string, ok bool) {
	const scheme = "http://"
	if len(uri) < len(scheme) || !strings.EqualFold(uri[:len(scheme)], scheme) {
		return "", false
	}
	return uri[len(scheme):], true
}

func hasPort(authority string) bool {
	i := strings.LastIndexByte(authority, ':')
	return i >= 0 && !strings.Contains(authority[i:], "]")
}

// authority spells a destination for Host and URL, without the default port.
func authority(h policy.HostPort) string {
	text := h.String()
	return strings.TrimSuffix(text, ":80")
}

// dialPermitted is the transport's dial: it opens only what a permit names.
func (s *Server) dialPermitted(ctx context.Context, _, _ string) (net.Conn, error) {
	p, ok := ctx.Value(permitKey).(permit)
	if !ok {
		return nil, errors.New("BUG(gosrt): a request that was not admitted")
	}
	client, _ := ctx.Value(clientKey).(*endpoint)
	out, err := s.openFor(ctx, p, client)
	if err != nil {
		return nil, err
	}
	if request, ok := ctx.Value(requestKey).(context.Context); ok {
		context.AfterFunc(request, func() { out.touch(); out.halfClosed.Store(true) })
	}
	return &requestFirst{endpoint: out, asked: make(chan struct{})}, nil
}

// openFor is open, unless the client brought its connection along.
func (s *Server) openFor(ctx context.Context, p permit, client *endpoint) (*endpoint, error) {
	if client != nil {
		if out := client.spare.Swap(nil); out != nil {
			return out, nil
		}
	}
	return s.open(ctx, p)
}

// requestFirst keeps an answer back until the request is on its way: the
// transport would log what a server says unasked, and this process prints
// nothing that comes from outside.
type requestFirst struct {
	*endpoint
	asked chan struct{}
	once  sync.Once
}

func (c *requestFirst) Write(p []byte) (int, error) {
	c.once.Do(func() { close(c.asked) })
	return c.endpoint.Write(p)
}

func (c *requestFirst) ReadFrom(r io.Reader) (int64, error) {
	c.once.Do(func() { close(c.asked) })
	return c.endpoint.ReadFrom(r)
}

func (c *requestFirst) Read(p []byte) (int, error) {
	select {
	case <-c.asked:
		return c.endpoint.Read(p)
	case <-c.done:
		return 0, net.ErrClosed
	}
}

// hopHeaders belong to one connection and never travel further (RFC 9110
// section 7.6.1, and what older agents send).
var hopHeaders = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate",
	"Proxy-Authorization", "Te", "Upgrade", "Http2-Settings",
}

func stripHop(h http.Header) {
	for _, list := range h["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			if name = textproto.TrimString(name); !strings.EqualFold(name, "Host") {
				h.Del(name)
			}
		}
	}
	for _, name := range hopHeaders {
		h.Del(name)
	}
}

func cleanRequest(r *http.Request, _ *goproxy.ProxyCtx) (*http.Request, *http.Response) {
	trailers := strings.Contains(strings.ToLower(r.Header.Get("Te")), "trailers")
	stripHop(r.Header)
	if trailers { // the one TE value that is about the whole chain
		r.Header.Set("Te", "trailers")
	}
	if _, ok := r.Header["User-Agent"]; !ok {
		r.Header["User-Agent"] = []string{""} // else the transport adds its own
	}
	return r, nil
}

// cleanResponse also turns a failed round trip into an answer that says why.
func cleanResponse(resp *http.Response, ctx *goproxy.ProxyCtx) *http.Response {
	if resp == nil {
		resp = answer(ctx.Error)
		resp.Request = ctx.Req
		return resp
	}
	stripHop(resp.Header)
	for _, name := range []string{"Content-Type", "Date"} {
		if _, ok := resp.Header[name]; !ok {
			resp.Header[name] = nil // else the server makes one up
		}
	}
	return resp
}

// flushing sends every piece of a body on as it comes: goproxy would hold a
// chunked one until it is complete.
type flushing struct{ http.ResponseWriter }

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	f.Flush()
	return n, err
}

func (f flushing) Flush() { _ = http.NewResponseController(f.ResponseWriter).Flush() }

func (f flushing) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(f.ResponseWriter).Hijack()
}

func (f flushing) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// informational passes 1xx responses on. 100 is the server's own business: it
// follows from reading the body.
func informational(w http.ResponseWriter) func(int, textproto.MIMEHeader) error {
	return func(code int, header textproto.MIMEHeader) error {
		if code == http.StatusContinue {
			return nil
		}
		h := w.Header()
		for name, values := range header {
			h[name] = values
		}
		w.WriteHeader(code)
		clear(h)
		return nil
	}
}
