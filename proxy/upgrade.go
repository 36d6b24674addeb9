package proxy

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
)

// relayUpgrade carries a request that wants to change protocols (WebSocket,
// h2c, anything). goproxy knows only WebSocket and leaves the client hanging
// when the server ends first.
func (s *Server) relayUpgrade(w http.ResponseWriter, r *http.Request, p permit, client *endpoint) {
	out, err := s.openFor(context.WithoutCancel(r.Context()), p, client)
	if err != nil {
		respond(w, err)
		return
	}
	defer out.Close()
	resp, upReader, err := askUpgrade(out, r)
	if err != nil {
		respond(w, err)
		return
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		defer resp.Body.Close()
		stripHop(resp.Header)
		resp.Header.Set("Connection", "close")
		writeResponse(flushing{w}, resp)
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	if err := writeSwitching(conn, resp); err != nil {
		return
	}
	relay(client, bufferedThen(rw.Reader, client), out, bufferedThen(upReader, out))
}

// askUpgrade sends the request and reads the final response head.
func askUpgrade(out *endpoint, r *http.Request) (*http.Response, *bufio.Reader, error) {
	upgrade := r.Header.Get("Upgrade")
	stripHop(r.Header)
	r.Header.Set("Upgrade", upgrade)
	r.Header.Set("Connection", "Upgrade")
	if _, ok := r.Header["User-Agent"]; !ok {
		r.Header["User-Agent"] = []string{""}
	}
	if err := r.Write(out); err != nil {
		return nil, nil, err
	}
	br := bufio.NewReader(out)
	for {
		resp, err := http.ReadResponse(br, r)
		if err != nil || resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, br, err
		}
	}
}

func writeSwitching(w io.Writer, resp *http.Response) error {
	bw := bufio.NewWriter(w)
	_, _ = io.WriteString(bw, "HTTP/1.1 101 Switching Protocols\r\n")
	_ = resp.Header.Write(bw)
	_, _ = io.WriteString(bw, "\r\n")
	return bw.Flush()
}

// bufferedThen reads what br holds already and then from e itself, so that the
// kernel can splice the rest.
func bufferedThen(br *bufio.Reader, e *endpoint) io.Reader {
	n := br.Buffered()
	if n == 0 {
		return e
	}
	held, _ := br.Peek(n)
	return io.MultiReader(bytes.NewReader(held), e)
}

// relay copies both ways until both directions have ended, and passes each
// half-close on. An error in one direction ends both.
func relay(a *endpoint, fromA io.Reader, b *endpoint, fromB io.Reader) {
	var both sync.WaitGroup
	one := func(dst, src *endpoint, from io.Reader) {
		_, err := io.Copy(dst, from)
		pass(dst, src, err)
	}
	both.Go(func() { one(b, a, fromA) })
	both.Go(func() { one(a, b, fromB) })
	both.Wait()
}

// pass hands the end of one direction on: a half-close where it ended well, and
// otherwise the end of both.
func pass(dst, src *endpoint, err error) {
	if err == nil {
		_ = dst.CloseWrite()
		return
	}
	_ = dst.Close()
	_ = src.Close()
}
