package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"
	xproxy "golang.org/x/net/proxy"

	"github.com/gosrt/gosrt/policy"
)

// errUpstream is any failure of the proxy that gosrt goes through.
var errUpstream = errors.New("the upstream proxy failed")

// upstream says through which proxy gosrt itself goes. The zero value dials
// directly; a broken one fails every connection, because going direct instead
// is what the user did not ask for.
type upstream struct {
	err    error
	plain  *hop // for plain HTTP requests
	tunnel *hop // for everything else
	// direct says which destinations NO_PROXY leaves alone. Nil: none.
	direct func(policy.HostPort) bool
}

// hop is one upstream proxy.
type hop struct {
	err   error    // why it cannot be used
	url   *url.URL // scheme http, https or socks5; may hold a password
	proxy policy.HostPort
}

// upstreamOf reads a network's upstream and, where it says so, the caller's
// proxy variables.
func (s *Server) upstreamOf(n policy.Network) (upstream, error) {
	env := s.UpstreamEnv
	if env == nil {
		env = func(string) string { return "" }
	}
	var up upstream
	switch n.Upstream {
	case "":
		return up, nil
	case "env":
		up.plain, up.err = parseHop(firstEnv(env, "HTTP_PROXY", "ALL_PROXY"))
		if up.err == nil {
			up.tunnel, up.err = parseHop(firstEnv(env, "HTTPS_PROXY", "ALL_PROXY"))
		}
	default:
		up.tunnel, up.err = parseHop(n.Upstream)
		up.plain = up.tunnel
	}
	up.direct = noProxy(firstEnv(env, "NO_PROXY"))
	return up, up.err
}

// firstEnv takes the first variable that is set, in either case of letters.
func firstEnv(env func(string) string, names ...string) string {
	for _, name := range names {
		for _, spelling := range []string{name, strings.ToLower(name)} {
			if v := env(spelling); v != "" {
				return v
			}
		}
	}
	return ""
}

// parseHop reads a proxy's URL; a bare "host:port" is an HTTP proxy, as tools
// read it in their variables. Empty: no proxy. The error never holds the text:
// it may hold a password.
func parseHop(text string) (*hop, error) {
	if text == "" {
		return nil, nil
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Path != "" && u.Path != "/" {
		return nil, errors.New("upstream: not a proxy's URL such as http://proxy.example:3128")
	}
	defaultPort, ok := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	if !ok {
		return nil, fmt.Errorf("upstream: scheme %q: gosrt goes through http, https and socks5 proxies", u.Scheme)
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), defaultPort)
	}
	h, err := policy.ParseHostPort(u.Host)
	if err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	u.Host = h.String()
	return &hop{url: u, proxy: h}, nil
}

// noProxy reads a NO_PROXY list as Go programs do; localhost and loopback are
// always on it.
func noProxy(list string) func(policy.HostPort) bool {
	pick := (&httpproxy.Config{HTTPSProxy: "http://proxy.invalid", NoProxy: list}).ProxyFunc()
	return func(h policy.HostPort) bool {
		via, err := pick(&url.URL{Scheme: "https", Host: h.String()})
		return err == nil && via == nil
	}
}

// route is the proxy on the way to h; nil for a direct connection. A name that
// the policy itself answers is dialled directly: the upstream cannot know it.
func (u upstream) route(n policy.Network, h policy.HostPort, plain bool) *hop {
	if u.err != nil {
		return &hop{err: u.err}
	}
	via := u.tunnel
	if plain {
		via = u.plain
	}
	if via == nil || u.direct(h) {
		return nil
	}
	if _, answered := n.Lookup(h.Host); answered {
		return nil
	}
	return via
}

// speaksHTTP says whether a plain request can be sent to the proxy as it is.
func (h *hop) speaksHTTP() bool {
	return h != nil && h.err == nil && (h.url.Scheme == "http" || h.url.Scheme == "https")
}

// dial opens a tunnel to dest through the proxy, which gets the name.
func (h *hop) dial(ctx context.Context, dest policy.HostPort) (net.Conn, error) {
	if h.err != nil {
		return nil, h.err
	}
	c, err := h.dialProxy(ctx)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(h.url.Scheme, "socks5") {
		return h.throughSOCKS(ctx, c, dest)
	}
	if h.url.Scheme == "https" {
		c = tls.Client(c, &tls.Config{ServerName: h.url.Hostname(), MinVersion: tls.VersionTLS12})
	}
	tunnel, err := handshakeCONNECT(ctx, c, dest, h.url.User)
	if err != nil {
		return nil, h.failed(err)
	}
	return tunnel, nil
}

// dialProxy connects to the proxy itself. The user named it, so it may be anywhere.
func (h *hop) dialProxy(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", h.proxy.String())
	if err != nil {
		return nil, h.failed(errors.New("it does not answer"))
	}
	return c, nil
}

// throughSOCKS keeps c itself as the tunnel: the package's own Dial would wrap
// it and hide its half-close.
func (h *hop) throughSOCKS(ctx context.Context, c net.Conn, dest policy.HostPort) (net.Conn, error) {
	var auth *xproxy.Auth
	if u := h.url.User; u != nil {
		password, _ := u.Password()
		auth = &xproxy.Auth{User: u.Username(), Password: password}
	}
	d, err := xproxy.SOCKS5("tcp", h.proxy.String(), auth, nil)
	if err == nil {
		_, err = d.(interface {
			DialWithConn(context.Context, net.Conn, string, string) (net.Addr, error)
		}).DialWithConn(ctx, c, "tcp", dest.String())
	}
	if err != nil {
		_ = c.Close()
		return nil, h.failed(errors.New("it did not connect"))
	}
	return c, nil
}

func (h *hop) failed(err error) error { return fmt.Errorf("%w: %w", errUpstream, err) }

// plainProxy is the transport's Proxy: plain requests go to an HTTP upstream in
// absolute form, since many refuse CONNECT to port 80.
func plainProxy(r *http.Request) (*url.URL, error) {
	p, ok := r.Context().Value(permitKey).(permit)
	if !ok {
		return nil, errors.New("BUG(gosrt): a request that was not admitted")
	}
	if via := p.upstream.route(p.network, p.dest, true); via.speaksHTTP() {
		return via.url, nil
	}
	return nil, nil
}

// connectUpstream makes the upstream's connection for p; false: there is no
// upstream on the way.
func connectUpstream(ctx context.Context, p permit) (net.Conn, bool, error) {
	via := p.upstream.route(p.network, p.dest, p.plain)
	switch {
	case via == nil:
		return nil, false, nil
	case p.plain && via.speaksHTTP():
		c, err := via.dialProxy(ctx)
		return c, true, err
	}
	c, err := via.dial(ctx, p.dest)
	return c, true, err
}
