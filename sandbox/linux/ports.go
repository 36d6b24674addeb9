package linux

import (
	"slices"

	"github.com/gosrt/gosrt/policy"
)

// dnsPort is answered on every address, whatever the policy says of it.
const dnsPort = 53

// wellKnown are the ports captured for an allowed host without a port, where
// connections to all ports cannot be: ssh, HTTP, HTTPS, git (IANA).
var wellKnown = []uint16{22, 80, 443, 9418}

// portsToCapture are the ports that the policy could allow, sorted. DNS is
// answered anyway.
func portsToCapture(n policy.Network) []uint16 {
	var ports []uint16
	for _, rule := range n.Allowed {
		if rule.Pattern.Port != 0 {
			ports = append(ports, rule.Pattern.Port)
		} else {
			ports = append(ports, wellKnown...)
		}
	}
	if n.Ask {
		ports = append(ports, wellKnown...)
	}
	slices.Sort(ports)
	return slices.DeleteFunc(slices.Compact(ports), func(p uint16) bool { return p == dnsPort })
}
