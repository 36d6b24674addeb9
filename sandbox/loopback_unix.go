//go:build linux || darwin

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/gosrt/gosrt/policy"
)

// hostLoopback is where host ports and published ports are, outside.
var hostLoopback = []string{"127.0.0.1", "::1"}

// dialHost connects to a port of this host's loopback.
func dialHost(port uint16) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (c net.Conn, err error) {
		var d net.Dialer
		for _, host := range hostLoopback {
			if c, err = d.DialContext(ctx, "tcp", hostPort(host, port)); err == nil {
				return c, nil
			}
		}
		return nil, err
	}
}

func hostPort(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// published is one port inside with its listeners on this host.
type published struct {
	inside    uint16
	listeners []net.Listener
}

// listenPublished takes the ports on this host before anything is started. One
// that is taken on 127.0.0.1 is an error; ::1 may be missing.
func listenPublished(rules []policy.PublishRule) ([]published, error) {
	var all []published
	for _, r := range rules {
		if r.Auto {
			continue
		}
		p, err := listenOutside(r.Outside, r.Inside)
		if err != nil {
			closePublished(all)
			return nil, fmt.Errorf("publish %s (%s): %w", r.Text, r.Origin, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func listenOutside(outside, inside uint16) (published, error) {
	p := published{inside: inside}
	for i, host := range hostLoopback {
		l, err := net.Listen("tcp", hostPort(host, outside))
		if err == nil {
			p.listeners = append(p.listeners, l)
		} else if i == 0 {
			return p, err
		}
	}
	return p, nil
}

func closePublished(all []published) (err error) {
	for _, p := range all {
		for _, l := range p.listeners {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}
