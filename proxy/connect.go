package proxy

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/gosrt/gosrt/policy"
)

// Connect opens a tunnel to h through the HTTP proxy at proxyAddr ("host:port")
// for a client inside. The connection is a *net.TCPConn unless the proxy sent
// bytes behind its answer. A denial's text is in the error.
func Connect(ctx context.Context, proxyAddr string, h policy.HostPort) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", proxyAddr)
	if err != nil {
		return nil, fmt.Errorf("proxy %q: %w", proxyAddr, err)
	}
	return handshakeCONNECT(ctx, c, h, nil)
}

// handshakeCONNECT asks the proxy behind c for a tunnel. It closes c on failure
// and keeps every byte that came behind the answer.
func handshakeCONNECT(ctx context.Context, c net.Conn, h policy.HostPort, user *url.Userinfo) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	conn, err := exchangeCONNECT(c, h, user)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return conn, nil
}

func exchangeCONNECT(c net.Conn, h policy.HostPort, user *url.Userinfo) (net.Conn, error) {
	head := "CONNECT " + h.String() + " HTTP/1.1\r\nHost: " + h.String() + "\r\n"
	if user != nil {
		password, _ := user.Password()
		token := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		head += "Proxy-Authorization: Basic " + token + "\r\n"
	}
	if _, err := io.WriteString(c, head+"\r\n"); err != nil {
		return nil, err
	}
	br := bufio.NewReader(&io.LimitedReader{R: c, N: maxHeaderBytes})
	resp, err := finalResponse(br)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, refusedCONNECT(resp)
	}
	held, _ := br.Peek(br.Buffered())
	if len(held) == 0 {
		return c, nil
	}
	return &prefixedConn{Conn: c, pre: append([]byte(nil), held...)}, nil
}

// finalResponse skips interim responses.
func finalResponse(br *bufio.Reader) (*http.Response, error) {
	for {
		resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
		if err != nil || resp.StatusCode >= 200 {
			return resp, err
		}
	}
}

func refusedCONNECT(resp *http.Response) error {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if rule := resp.Header.Get(deniedHeader); rule != "" {
		return &RefusedError{Rule: rule, Text: string(body)}
	}
	return fmt.Errorf("proxy answered %s", printable(resp.Status))
}

// RefusedError is a denial by gosrt, as its client sees it.
type RefusedError struct {
	Rule string
	Text string // the whole explanation, lines ending in \n
}

func (e *RefusedError) Error() string { return "refused by " + e.Rule }

// prefixedConn returns bytes that were read too early first.
type prefixedConn struct {
	net.Conn
	pre []byte
}

func (c *prefixedConn) Read(p []byte) (int, error) {
	if len(c.pre) > 0 {
		n := copy(p, c.pre)
		c.pre = c.pre[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// CloseWrite passes a half-close on where the connection knows one.
func (c *prefixedConn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return nil
}
