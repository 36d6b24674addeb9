package sandbox

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/proxy"
	"github.com/gosrt/gosrt/sandbox/linux"
)

// serveNetwork gives each socket inside its server, and tells what could not be
// captured as a weakness of the plan.
func serveNetwork(b backendConfig, n *linux.Network) {
	for _, l := range n.Proxies {
		b.serve(l)
	}
	for _, l := range n.HostPorts {
		b.background(func() { b.proxy.Forward(l, dialHost(l.Port)) })
	}
	capture := &proxy.Capture{
		Server: b.proxy, OriginalDst: linux.OriginalDst,
		IPv6:  len(n.Datagrams) > 1,
		Hosts: parseHosts(readHost("/etc/hosts")), Search: parseSearch(readHost("/etc/resolv.conf")),
	}
	for _, l := range n.Captured {
		b.background(func() { capture.Serve(l) })
	}
	for _, l := range n.DNS {
		b.background(func() { capture.ServeDNS(l) })
	}
	for _, c := range n.Datagrams {
		b.background(func() { capture.ServePackets(c) })
	}
	if n.Why != "" {
		b.plan.Weaknesses = append(b.plan.Weaknesses, policy.Weakness{
			ID:   "no-transparent",
			Text: fmt.Sprintf("programs that ignore proxy variables: %s (%s)", n.Capture, n.Why),
		})
	}
}

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
