package sandbox

import (
	"net/netip"
	"os"
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// hostsFile reads a file in the form of hosts(5). Loopback is left out: inside,
// it is the command's own. So is what is no address or no name, as resolvers do.
func hostsFile(path string) []policy.HostEntry {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil // resolvers ask DNS then
	}
	return parseHosts(string(data))
}

func parseHosts(text string) []policy.HostEntry {
	var entries []policy.HostEntry
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		addr, err := netip.ParseAddr(fields[0])
		if err != nil || addr.IsLoopback() {
			continue
		}
		for _, text := range fields[1:] {
			if name, _, err := policy.CanonicalHost(text); err == nil && name != "" {
				entries = append(entries, policy.HostEntry{Name: name, Addrs: []netip.Addr{addr.Unmap().WithZone("")}})
			}
		}
	}
	return entries
}
