package proxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/elazarl/goproxy"

	"github.com/gosrt/gosrt/policy"
)

// SelfHost stands for gosrt itself in a plain request. No resolver knows it
// (RFC 6761 section 6.4).
const SelfHost = "gosrt.invalid"

// contextKey marks values that travel in a request's context.
type contextKey int

const (
	clientKey  contextKey = iota // *endpoint the request came in on
	permitKey                    // permit of a plain request
	requestKey                   // context.Context of a plain request as net/http made it
	outKey                       // *endpoint that a CONNECT was given
)

// startHTTP builds the HTTP side. goproxy sees a request only after the front
// has judged it; its dials take what the front put into the context and
// otherwise fail, so that no path of the library can open a connection.
func (s *Server) startHTTP() {
	s.transport = &http.Transport{
		DialContext:        s.dialPermitted,
		Proxy:              plainProxy,
		DisableCompression: true, // else bodies are decompressed on the way
		// One request, one decision, one connection: a tightened policy then ends
		// exactly what it forbids.
		DisableKeepAlives:      true,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	p := goproxy.NewProxyHttpServer()
	p.Tr = s.transport
	p.ConnectDial = nil // NewProxyHttpServer fills it from HTTPS_PROXY
	p.ConnectDialWithReq = takeOut
	p.Logger = log.New(io.Discard, "", 0)
	p.KeepAcceptEncoding = true
	p.KeepDestinationHeaders = true // 1xx headers are gone by then; ours stay
	p.OnRequest().DoFunc(cleanRequest)
	p.OnResponse().DoFunc(cleanResponse)
	p.OnRequest().HandleConnectFunc(acceptGiven)
	s.goproxy = p
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.front),
		ReadHeaderTimeout: handshakeTimeout,
		IdleTimeout:       keepAliveTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, clientKey, c)
		},
		// Otherwise the server answers OPTIONS * itself.
		DisableGeneralOptionsHandler: true,
	}
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		_ = s.http.Serve(handover{s})
	}()
}

// handover is the listener of the HTTP server: it accepts what serveHTTP hands over.
type handover struct{ s *Server }

func (h handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.s.httpConns:
		return c, nil
	case <-h.s.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (h handover) Close() error   { return nil }
func (h handover) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero} }

// serveHTTP lets the HTTP server have the connection and waits for its end.
func (s *Server) serveHTTP(client *endpoint) {
	select {
	case s.httpConns <- client:
		<-client.done
	case <-s.ctx.Done():
	}
}

// front judges every request before goproxy sees it.
func (s *Server) front(w http.ResponseWriter, r *http.Request) {
	client, _ := r.Context().Value(clientKey).(*endpoint)
	switch {
	case client == nil:
		refuse(w, http.StatusInternalServerError, "BUG(gosrt): a request without its connection")
	case r.Method == http.MethodConnect && client.captured.IsValid():
		refuse(w, http.StatusMethodNotAllowed, "this is no proxy")
	case s.Self != nil && r.URL.Host == SelfHost && !client.captured.IsValid():
		s.Self.ServeHTTP(w, r)
	case r.Method == http.MethodConnect:
		s.serveCONNECT(w, r, client)
	default:
		s.servePlain(w, r, client)
	}
}

// serveCONNECT opens the destination first, so that a failure is an ordinary
// response, and then lets goproxy answer 200 and carry the tunnel.
func (s *Server) serveCONNECT(w http.ResponseWriter, r *http.Request, client *endpoint) {
	// net/http takes the authority from the request line alone; a target that it
	// read differently from what is written is not carried.
	if r.RequestURI != r.URL.Host {
		s.malformed(w, r.RequestURI, r.Method, errors.New("not an authority"))
		return
	}
	dest, err := policy.ParseHostPort(r.RequestURI)
	if err != nil {
		s.malformed(w, r.RequestURI, r.Method, err)
		return
	}
	p, err := s.admit(r.Context(), request{dest: dest, protocol: "CONNECT", op: "CONNECT"})
	if err != nil {
		s.refuseCONNECT(w, dest, err)
		return
	}
	// A client that has sent all it will send still wants its answer, so its
	// half-close does not end the dial.
	ctx := context.WithoutCancel(r.Context())
	out, err := s.open(ctx, p)
	if err != nil {
		s.refuseCONNECT(w, dest, err)
		return
	}
	out.guard = s.inspect(p, client)
	s.goproxy.ServeHTTP(w, r.WithContext(context.WithValue(ctx, outKey, out)))
}

// refuseCONNECT answers a denied or failed CONNECT. A client that speaks SSH
// already is told through SSH, because it will never show an HTTP body.
func (s *Server) refuseCONNECT(w http.ResponseWriter, dest policy.HostPort, err error) {
	var denied *deniedError
	if dest.Port == sshPort && errors.As(err, &denied) && s.refuseEarlySSH(w, denied) {
		return
	}
	respond(w, err)
}

// refuseEarlySSH looks for an SSH greeting sent along with the CONNECT.
func (s *Server) refuseEarlySSH(w http.ResponseWriter, denied *deniedError) bool {
	rc := http.NewResponseController(w)
	conn, rw, err := rc.Hijack()
	if err != nil {
		return false
	}
	defer conn.Close()
	early, _ := rw.Reader.Peek(rw.Reader.Buffered())
	if strings.HasPrefix(string(early), "SSH-") {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
		_, _ = conn.Write(sshRefusal(denied.line()))
	} else {
		_ = denial(denied).Write(conn)
	}
	lingerClose(conn)
	return true
}

// lingerClose half-closes and gives the peer a moment to read: closing with
// unread bytes would reset the connection and lose the answer.
func lingerClose(conn net.Conn) {
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, io.LimitReader(conn, 1<<20))
	_ = conn.Close()
}

// takeOut is goproxy's dial for CONNECT.
func takeOut(r *http.Request, _, _ string) (net.Conn, error) {
	if out, ok := r.Context().Value(outKey).(*endpoint); ok {
		return out, nil
	}
	return nil, errors.New("BUG(gosrt): a tunnel that was not admitted")
}

// acceptGiven accepts a CONNECT that has its connection and rejects all else:
// without any handler goproxy would accept.
func acceptGiven(host string, ctx *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
	if ctx.Req.Context().Value(outKey) == nil {
		return goproxy.RejectConnect, host
	}
	return &goproxy.ConnectAction{Action: goproxy.ConnectAccept}, host
}
