package darwin

import (
	"fmt"
	"slices"

	"github.com/gosrt/gosrt/policy"
)

// networkRules leave one way out: TCP to the proxies' ports on the loopback
// interface. Filters know no host but "localhost" and "*". There is no name
// resolution: the proxies resolve. The command gets no right to bind or to accept
// on a proxy's port, so it cannot take the place of a proxy that died.
func networkRules(p *policy.Plan) []rule {
	var out []rule
	ports := proxyPorts(p)
	remote := slices.Clone(ports)
	for _, r := range p.Network.HostPorts {
		remote = append(remote, r.Port)
	}
	local, auto := published(p)
	remote = append(remote, local...)
	if auto {
		out = append(out, allow("network-bind", "network-inbound").on(`(local tcp "localhost:*")`))
	}
	local = slices.DeleteFunc(local, func(n uint16) bool { return auto || slices.Contains(ports, n) })
	if len(local) > 0 {
		out = append(out, allow("network-bind", "network-inbound").on(onPorts("local", local)...))
	}
	if auto && len(ports) > 0 {
		out = append(out, deny("network-bind", "network-inbound").on(onPorts("local", ports)...).
			because("the proxy's port is the proxy's"))
	}
	if len(remote) > 0 {
		out = append(out, allow("network-outbound").on(onPorts("remote", remote)...))
	}
	quiet := deny("network-outbound").on(literal("/private/var/run/mDNSResponder"), literal("/private/var/run/syslog"))
	quiet.quiet = true
	return append(out, quiet)
}

func proxyPorts(p *policy.Plan) []uint16 {
	return slices.DeleteFunc([]uint16{p.HTTPPort, p.SOCKSPort}, func(n uint16) bool { return n == 0 })
}

// published are the ports that the command may serve. There is no namespace on
// macOS, so a port inside is the same port of the host; where the policy
// publishes it under another number, the caller relays.
func published(p *policy.Plan) (ports []uint16, auto bool) {
	for _, r := range p.Network.Publish {
		if r.Auto {
			auto = true
		} else {
			ports = append(ports, r.Inside)
		}
	}
	return ports, auto
}

// onPorts uses tcp: "ip" would cover UDP, and so QUIC, on the same ports.
func onPorts(side string, ports []uint16) []string {
	slices.Sort(ports)
	return each(func(n uint16) string { return fmt.Sprintf(`(%s tcp "localhost:%d")`, side, n) }, slices.Compact(ports))
}

// socketRules open Unix sockets. A connect is judged as network-outbound with
// the socket's path; no file rule covers it. The host's sockets are for
// connecting only, those in the private temporary directory are the command's.
func socketRules(p *policy.Plan) ([]rule, error) {
	var out []rule
	open := false
	for _, s := range p.Sockets {
		e, err := newEntry(s)
		if err != nil {
			return nil, err
		}
		out = append(out, allow("network-outbound").on(socketFilters(e)...))
		open = true
	}
	if p.TmpDir != "" {
		own := canonical(p.TmpDir)
		if err := pathFault(own); err != nil {
			return nil, fmt.Errorf("temporary directory %q: %w", p.TmpDir, err)
		}
		out = append(out, allow("network-bind", "network-inbound", "network-outbound").on(each(subpath, forms(own))...))
		open = true
	}
	if open {
		out = append(out, allow("system-socket").on("(socket-domain AF_UNIX)"))
	}
	return out, nil
}

func socketFilters(e entry) []string {
	if e.glob != nil {
		return []string{regex(e.glob.regex(true))}
	}
	filter := literal
	if e.Dir {
		filter = subpath
	}
	return each(filter, forms(e.path))
}

// interfaceRules let a program list interfaces and routes, and read the kernel's
// control sockets for it; both carry no traffic.
func interfaceRules() []rule {
	return []rule{
		allow("system-socket").on("(require-all (socket-domain AF_SYSTEM) (socket-protocol 2))", "(socket-domain AF_ROUTE)"),
	}
}
