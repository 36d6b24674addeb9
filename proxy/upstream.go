package proxy

import (
	"context"
	"net"

	"github.com/gosrt/gosrt/policy"
)

// upstream says through which proxy gosrt itself goes. The zero value dials directly.
type upstream struct{ routes func(policy.HostPort) *hop }

// hop is one upstream proxy.
type hop struct{}

func (u upstream) route(h policy.HostPort) *hop { return nil }

func (h *hop) dial(ctx context.Context, dest policy.HostPort) (net.Conn, error) {
	return nil, errUpstream
}

func (s *Server) upstreamOf(n policy.Network) (upstream, error) { return upstream{}, nil }
