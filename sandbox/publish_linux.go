package sandbox

import (
	"context"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux"
)

// publish serves ports inside on this host until the command has ended.
func publish(b backendConfig, all []published, n *linux.Network) {
	for _, p := range all {
		p.serve(b, n)
	}
	for _, r := range b.plan.Network.Publish {
		if r.Auto {
			b.background(func() { publishListening(b, n) })
			return
		}
	}
}

func (p published) serve(b backendConfig, n *linux.Network) {
	for _, l := range p.listeners {
		b.background(func() {
			b.proxy.Forward(l, func(context.Context) (net.Conn, error) { return n.Dial(p.inside) })
		})
	}
}

const (
	// publishEvery is how long a port inside may be open before it is on the host.
	publishEvery = 200 * time.Millisecond
	// firstAuto keeps a command that runs as root from taking a port of the
	// system's by listening on it: those below need CAP_NET_BIND_SERVICE.
	firstAuto = 1024
)

// publishListening follows what the command listens on, under the same numbers.
// One that is taken on this host is reported once.
func publishListening(b backendConfig, n *linux.Network) {
	defer n.Close()
	now := map[uint16]published{}
	tick := time.NewTicker(publishEvery)
	defer tick.Stop()
	for {
		select {
		case <-b.over:
			return
		case <-tick.C:
		}
		ports, err := n.Listening()
		if err != nil {
			b.unpublished("auto", err)
			return
		}
		follow(b, n, now, ports)
	}
}

// follow makes now what ports says.
func follow(b backendConfig, n *linux.Network, now map[uint16]published, ports []uint16) {
	gone := maps.Clone(now)
	for _, port := range ports {
		delete(gone, port)
		if _, known := now[port]; known || port < firstAuto || b.publishes(port) {
			continue
		}
		p, err := listenOutside(port, port)
		if err != nil {
			b.unpublished(hostPort(hostLoopback[0], port), err)
		}
		now[port] = p // also a failed one: it is not tried again while it lasts
		p.serve(b, n)
	}
	for port, p := range gone {
		closePublished([]published{p})
		delete(now, port)
	}
}

// publishes says whether a rule has taken a port of this host.
func (b backendConfig) publishes(outside uint16) bool {
	return slices.ContainsFunc(b.plan.Network.Publish, func(r policy.PublishRule) bool { return r.Outside == outside })
}

// unpublished reports what could not be published.
func (b backendConfig) unpublished(target string, err error) {
	if b.violation == nil {
		return
	}
	b.violation(policy.Violation{
		Time: time.Now(), Kind: "port", Operation: "publish", Target: target,
		Rule: "publish auto", Reason: err.Error(), Count: 1,
	})
}
