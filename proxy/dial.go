package proxy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

// attemptDelay is the head start of each address over the next (RFC 8305
// section 8 recommends 250 ms).
const attemptDelay = 250 * time.Millisecond

type dialled struct {
	conn net.Conn
	addr netip.Addr
	err  error
}

// dialAny connects to the first of the addresses that answers (RFC 8305): the
// families take turns, each attempt starts when the one before failed or had
// its head start, and the losers are closed.
func dialAny(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, netip.Addr, error) {
	if len(addrs) == 1 {
		d := dialOne(ctx, addrs[0], port)
		return d.conn, d.addr, d.err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan dialled)
	started, finished := 0, 0
	next := func() {
		a := interleave(addrs)[started]
		started++
		go func() {
			d := dialOne(ctx, a, port)
			select {
			case results <- d:
			case <-ctx.Done():
				if d.conn != nil {
					_ = d.conn.Close()
				}
			}
		}()
	}
	next()
	var first error
	for finished < len(addrs) {
		var timer <-chan time.Time
		if started < len(addrs) {
			timer = time.After(attemptDelay)
		}
		select {
		case <-timer:
			next()
		case d := <-results:
			if d.err == nil {
				return d.conn, d.addr, nil
			}
			finished++
			if first == nil {
				first = d.err
			}
			if started < len(addrs) {
				next()
			}
		case <-ctx.Done():
			return nil, netip.Addr{}, errors.Join(ctx.Err(), first)
		}
	}
	return nil, netip.Addr{}, first
}

func dialOne(ctx context.Context, a netip.Addr, port uint16) dialled {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", netip.AddrPortFrom(a, port).String())
	return dialled{c, a, err}
}

// interleave alternates the families, keeping the resolver's order in each and
// the family of its first answer first.
func interleave(addrs []netip.Addr) []netip.Addr {
	var same, other, out []netip.Addr
	for _, a := range addrs {
		if a.Is4() == addrs[0].Is4() {
			same = append(same, a)
		} else {
			other = append(other, a)
		}
	}
	for i := range max(len(same), len(other)) {
		if i < len(same) {
			out = append(out, same[i])
		}
		if i < len(other) {
			out = append(out, other[i])
		}
	}
	return out
}
