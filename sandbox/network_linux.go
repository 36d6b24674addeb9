package sandbox

import (
	"fmt"

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
