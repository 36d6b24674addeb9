package sandbox

import (
	"net/netip"
	"os"
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// readHost returns a file that the command's resolver reads too. Without one,
// the resolver has defaults that need nothing of it.
func readHost(path string) string {
	data, _ := os.ReadFile(path)
	return string(data)
}

// parseSearch returns the domains that a resolver adds to names, resolv.conf(5):
// the last line of its kind counts.
func parseSearch(text string) []string {
	var domains []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "search" && fields[0] != "domain" {
			continue
		}
		domains = nil
		for _, text := range fields[1:] {
			if name, _, err := policy.CanonicalHost(text); err == nil && name != "" {
				domains = append(domains, name)
			}
		}
	}
	return domains
}

// parseHosts reads hosts(5). Loopback is left out: inside, it is the command's
// own. So is what is no address or no name, as resolvers do.
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
