package policy

import "net/netip"

// HostPort is one canonical destination: the value that is compared, resolved
// and dialled. Made only by ParseHostPort.
type HostPort struct {
	Host string     // lower-case ASCII name without trailing dot; empty for a literal
	Addr netip.Addr // unmapped, without zone; invalid for a name
	Port uint16     // never 0
}

// HostPattern is one canonical entry of a host list. Made only by ParseHostPattern.
type HostPattern struct {
	Any    bool         // "*": every host
	Host   string       // exact name, or the base of a wildcard
	Sub    bool         // "*.Host": any depth below Host, not Host itself
	Middle bool         // Host holds one "*" label that matches exactly one label
	Prefix netip.Prefix // an address literal (full length) or a range
	Port   uint16       // 0: any port
}
