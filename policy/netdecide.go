package policy

import (
	"net/netip"
	"strings"
)

// alwaysDenied is what no allow list opens except by an entry that names
// exactly that host: cloud metadata services, which hand out credentials, and
// telemetry sinks.
var alwaysDenied = []HostRule{
	builtinDeny("metadata.google.internal", HostPattern{Host: "metadata.google.internal"}, metadataReason),
	builtinDeny("metadata.goog", HostPattern{Host: "metadata.goog"}, metadataReason),
	builtinDeny("instance-data.ec2.internal", HostPattern{Host: "instance-data.ec2.internal"}, metadataReason),
	builtinDeny("instance-data", HostPattern{Host: "instance-data"}, metadataReason),
	builtinDeny("metadata", HostPattern{Host: "metadata"}, metadataReason),
	builtinDeny("metadata.azure.internal", HostPattern{Host: "metadata.azure.internal"}, metadataReason),
	builtinDeny("metadata.tencentyun.com", HostPattern{Host: "metadata.tencentyun.com"}, metadataReason),
	builtinDeny("statsig.anthropic.com", HostPattern{Host: "statsig.anthropic.com"}, telemetryReason),
	builtinDeny("*.sentry.io", HostPattern{Host: "sentry.io", Sub: true}, telemetryReason),
}

const (
	metadataReason  = "a cloud metadata service"
	telemetryReason = "a telemetry sink"
)

func builtinDeny(text string, p HostPattern, reason string) HostRule {
	return HostRule{Text: text, Pattern: p, Reason: reason}
}

// AlwaysDenied returns the built-in denied names, for policy show. Addresses
// are denied by their class, see ClassOf.
func AlwaysDenied() []HostRule {
	return append([]HostRule(nil), alwaysDenied...)
}

// Decide answers for a destination by its name, before anything is looked up.
// The first of these that holds decides: a deniedDomains entry; the built-in
// denied hosts, unless an entry names the host exactly; for an address, its
// class; an allowedDomains entry; the asker; denied.
//
// An allowed name is not yet an allowed connection: each address it resolves to
// must pass DecideAddr.
func (n Network) Decide(h HostPort) Decision {
	if !h.IsValid() {
		return Decision{Reason: "not a valid destination"}
	}
	if d, denied := n.decideDenied(h); denied {
		return d
	}
	if h.Addr.IsValid() {
		if d := n.DecideAddr(h, h.Addr, nil); d.Verdict == Deny {
			return d
		}
	}
	return n.decideAllowed(h)
}

// decideDenied asks the deny lists.
func (n Network) decideDenied(h HostPort) (Decision, bool) {
	if rule, ok := firstDenying(n.Denied, h); ok {
		return denyBy("deniedDomains ", rule, "a deniedDomains entry matches"), true
	}
	if rule, ok := firstMatch(alwaysDenied, h); ok && !n.namesLiterally(h) {
		d := denyBy("always denied ", rule, "")
		d.Hint = allowHint(h)
		return d, true
	}
	return Decision{}, false
}

func (n Network) decideAllowed(h HostPort) Decision {
	if rule, ok := firstMatch(n.Allowed, h); ok {
		return Decision{
			Verdict: Allow, Rule: "allowedDomains " + rule.Text, Origin: rule.Origin,
			Reason: "an allowedDomains entry matches",
		}
	}
	d := Decision{Reason: "no allowedDomains entry matches", Hint: allowHint(h)}
	if n.Ask {
		d.Verdict = Ask
	}
	return d
}

// DecideAddr answers for one address that h resolved to, or for h's own address
// when it is a literal. own lists this host's addresses. It never asks, and it
// says nothing of h's name: Decide does. The first of these that holds decides:
//
//   - a denied literal or range, also when the address only carries it (NAT64, 6to4);
//   - an allowedDomains literal of exactly this address: the one way to
//     loopback and metadata addresses, besides a hosts entry of the policy;
//   - localhost (RFC 6761), named by an entry other than "*": loopback, nothing else;
//   - the classes of ClassOf, this host's own addresses, and the private ranges
//     where PrivateDenied says so and no allowed range covers them.
//
// Reason names the class and never the address, which the command may not know.
func (n Network) DecideAddr(h HostPort, a netip.Addr, own []netip.Addr) Decision {
	a = a.Unmap().WithZone("")
	at := HostPort{Addr: a, Port: h.Port}
	if !at.IsValid() {
		return Decision{Reason: "not a valid address"}
	}
	if rule, ok := firstDenying(n.Denied, at); ok {
		return denyBy("deniedDomains ", rule, resolved(h, "a denied address"))
	}
	if n.namesLiterally(at) || n.hostsEntry(h.Host, a) {
		return Decision{Verdict: Allow, Reason: "the policy names this address"}
	}
	if isLocalhost(h.Host) && n.opensLocalhost(h) {
		return decideLocalhost(a)
	}
	if rule, ok := firstDenying(n.DeniedAddresses, at); ok {
		return denyBy("deniedAddresses ", rule, resolved(h, "a denied address"))
	}
	if class := n.closedClass(at, own); class != "" {
		d := Decision{Rule: "address class", Reason: resolved(h, string(class))}
		if h.Addr.IsValid() {
			d.Hint = allowHint(h)
		}
		return d
	}
	return Decision{Verdict: Allow, Reason: "an ordinary address"}
}

// closedClass is the class for which an address is refused; empty when it is not.
func (n Network) closedClass(at HostPort, own []netip.Addr) AddrClass {
	class := ClassOf(at.Addr)
	switch {
	case class != "" && class != AddrPrivate:
		return class
	case isOwn(at.Addr, own):
		return "one of this host's own addresses"
	case class == AddrPrivate && n.PrivateDenied && !n.allowsRange(at):
		return class
	}
	return ""
}

// isOwn also looks at what a carries: a translator on this host may deliver it here.
func isOwn(a netip.Addr, own []netip.Addr) bool {
	candidates := append(EmbeddedIPv4(a), a)
	for _, o := range own {
		for _, c := range candidates {
			if o.Unmap().WithZone("") == c {
				return true
			}
		}
	}
	return false
}

// allowsRange says whether an allowed literal or range covers the address.
func (n Network) allowsRange(at HostPort) bool {
	for _, rule := range n.Allowed {
		if rule.Pattern.Prefix.IsValid() && rule.Pattern.Match(at) {
			return true
		}
	}
	return false
}

// namesLiterally says whether an allow entry names exactly this host.
func (n Network) namesLiterally(h HostPort) bool {
	for _, rule := range n.Allowed {
		if rule.Pattern.Literal() && rule.Pattern.Match(h) {
			return true
		}
	}
	return false
}

// hostsEntry says whether the policy itself answers name with a.
func (n Network) hostsEntry(name string, a netip.Addr) bool {
	for _, b := range n.hostAddrs(name) {
		if b.Unmap().WithZone("") == a {
			return true
		}
	}
	return false
}

// Lookup answers a canonical name from the policy's hosts, and localhost by
// itself, so that no resolver can say otherwise. False: ask the resolver.
func (n Network) Lookup(name string) ([]netip.Addr, bool) {
	addrs := n.hostAddrs(name)
	if len(addrs) == 0 && isLocalhost(name) {
		addrs = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	return addrs, len(addrs) > 0
}

func (n Network) hostAddrs(name string) []netip.Addr {
	var addrs []netip.Addr
	for _, entry := range n.Hosts {
		if entry.Name == name && name != "" {
			addrs = append(addrs, entry.Addrs...)
		}
	}
	return addrs
}

// isLocalhost follows RFC 6761 section 6.3.
func isLocalhost(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// opensLocalhost says whether an entry means localhost, which "*" does not.
func (n Network) opensLocalhost(h HostPort) bool {
	for _, rule := range n.Allowed {
		if !rule.Pattern.Any && rule.Pattern.Match(h) {
			return true
		}
	}
	return false
}

func decideLocalhost(a netip.Addr) Decision {
	if a.IsLoopback() {
		return Decision{Verdict: Allow, Reason: "the policy names localhost"}
	}
	return Decision{Rule: "address class", Reason: "localhost resolved to an address that is not loopback"}
}

func firstMatch(rules []HostRule, h HostPort) (HostRule, bool) {
	for _, rule := range rules {
		if rule.Pattern.Match(h) {
			return rule, true
		}
	}
	return HostRule{}, false
}

// firstDenying is firstMatch that also sees through an address to the IPv4
// address it carries. Only denying looks that far.
func firstDenying(rules []HostRule, h HostPort) (HostRule, bool) {
	if rule, ok := firstMatch(rules, h); ok {
		return rule, true
	}
	for _, v4 := range EmbeddedIPv4(h.Addr) {
		if rule, ok := firstMatch(rules, HostPort{Addr: v4, Port: h.Port}); ok {
			return rule, true
		}
	}
	return HostRule{}, false
}

// denyBy denies by rule, with the rule's own reason where it has one.
func denyBy(key string, rule HostRule, reason string) Decision {
	if rule.Reason != "" {
		reason = rule.Reason
	}
	return Decision{Rule: key + rule.Text, Origin: rule.Origin, Reason: reason}
}

// resolved words a fault of an address: the name's that led there, or its own.
func resolved(h HostPort, what string) string {
	if h.Addr.IsValid() {
		return what
	}
	return "the name resolved to " + what
}

// allowHint is the narrowest flag that opens h. The two ports of the web are
// left out, since who means a site means both.
func allowHint(h HostPort) string {
	host := h.String()
	if h.Addr.Is6() {
		return "--allow-domain '" + host + "'"
	}
	if h.Port == 80 || h.Port == 443 {
		host = h.Name()
	}
	return "--allow-domain " + host
}
