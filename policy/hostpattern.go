package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// HostPattern is one canonical entry of a host list. Made only by
// ParseHostPattern and ParseDeniedPattern. The zero value matches nothing.
type HostPattern struct {
	Any    bool         // "*": every host
	Host   string       // exact name, or the base of a wildcard
	Sub    bool         // "*.Host": any depth below Host, not Host itself
	Middle bool         // Host holds one "*" label that matches exactly one label
	Prefix netip.Prefix // an address literal (full length) or a range
	Port   uint16       // 0: any port
}

// ParseHostPattern reads an entry of an allow list:
//
//	example.org       that name
//	*.example.org     any depth below it, not itself
//	a.*.example.org   exactly one label for the *
//	*                 every host
//	192.0.2.7, [::1]  an address literal; brackets are optional without a port
//	10.0.0.0/8        a range
//
// each with an optional ":port". It is canonical by the same code as requests,
// and a pattern that no request could match is an error that says why. So is a
// wildcard directly on a public suffix ("*.com", "*.github.io"), where anybody
// may register a name.
func ParseHostPattern(text string) (HostPattern, error) {
	p, err := ParseDeniedPattern(text)
	if err != nil {
		return HostPattern{}, err
	}
	if base := p.wildcardBase(); base != "" && publicSuffix(base) {
		return HostPattern{}, patternError(text, fmt.Errorf("anybody can register a name below %q; name the host", base))
	}
	return p, nil
}

// ParseDeniedPattern is ParseHostPattern for an entry of a deny list, where a
// wildcard on a public suffix only takes away.
func ParseDeniedPattern(text string) (HostPattern, error) {
	p, err := parseHostEntry(text)
	if err != nil {
		return HostPattern{}, patternError(text, err)
	}
	return p, nil
}

func patternError(text string, err error) error {
	return fmt.Errorf("host pattern %s: %w", quoteCut(text), err)
}

func parseHostEntry(text string) (HostPattern, error) {
	if _, rest, ok := strings.Cut(text, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		return HostPattern{}, fmt.Errorf("a host, not a URL; write %s", quoteCut(host))
	}
	host, port, err := splitPatternPort(text)
	if err != nil {
		return HostPattern{}, err
	}
	p, err := parsePatternHost(host)
	p.Port = port
	return p, err
}

// splitPatternPort cuts an optional port off. Two colons without brackets are
// an IPv6 address or range.
func splitPatternPort(text string) (host string, port uint16, err error) {
	i := strings.LastIndexByte(text, ':')
	bracketed := strings.HasPrefix(text, "[")
	switch {
	case i < 0, bracketed && strings.HasSuffix(text, "]"):
		return text, 0, nil
	case !bracketed && strings.Count(text, ":") > 1:
		return text, 0, nil
	}
	port, err = parsePort(text[i+1:])
	return text[:i], port, err
}

func parsePatternHost(host string) (HostPattern, error) {
	switch {
	case host == "*":
		return HostPattern{Any: true}, nil
	case strings.Contains(host, "/"):
		return parseRange(host)
	case strings.Contains(host, "*"):
		return parseWildcard(host)
	}
	name, addr, err := canonicalHost(host)
	if err != nil {
		return HostPattern{}, err
	}
	if addr.IsValid() {
		return HostPattern{Prefix: netip.PrefixFrom(addr, addr.BitLen())}, nil
	}
	return HostPattern{Host: name}, nil
}

// parseRange reads a CIDR range. Bits below the mask are dropped. A range of
// IPv4-mapped addresses is the IPv4 range, since requests are unmapped.
func parseRange(text string) (HostPattern, error) {
	inner, ok := strings.CutPrefix(text, "[")
	if ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok {
			return HostPattern{}, errors.New("a bracket is not closed")
		}
	}
	prefix, err := netip.ParsePrefix(inner)
	if err != nil {
		return HostPattern{}, errors.New(`not an address range such as "10.0.0.0/8"`)
	}
	if !prefix.Addr().Is4In6() {
		return HostPattern{Prefix: prefix.Masked()}, nil
	}
	if prefix.Bits() < 96 {
		return HostPattern{}, errors.New("wider than the IPv4-mapped addresses and can never match; write the IPv4 range")
	}
	return HostPattern{Prefix: netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96).Masked()}, nil
}

// parseWildcard reads "*.base" and "a.*.b".
func parseWildcard(text string) (HostPattern, error) {
	labels := strings.Split(strings.TrimSuffix(text, "."), ".")
	at := starLabel(labels)
	switch {
	case strings.Count(text, "*") > 1:
		return HostPattern{}, errors.New(`more than one "*" can never match`)
	case at < 0:
		return HostPattern{}, errors.New(`"*" must be a whole label, as in "*.example.org"`)
	case at == len(labels)-1:
		return HostPattern{}, errors.New(`"*" cannot be the last label`)
	}
	after, err := canonicalBase(strings.Join(labels[at+1:], "."))
	if err != nil {
		return HostPattern{}, err
	}
	p := HostPattern{Host: after, Sub: true}
	if at > 0 {
		// The stand-in keeps a numeric label in front from being read as an address.
		before, err := canonicalBase(strings.Join(labels[:at], ".") + ".x")
		if err != nil {
			return HostPattern{}, err
		}
		p = HostPattern{Host: strings.TrimSuffix(before, "x") + "*." + after, Middle: true}
	}
	if len(p.Host)+len("x.") > maxName {
		return HostPattern{}, errors.New("too long for any name to match")
	}
	return p, nil
}

func starLabel(labels []string) int {
	for i, label := range labels {
		if label == "*" {
			return i
		}
	}
	return -1
}

// canonicalBase settles the name on one side of a wildcard.
func canonicalBase(text string) (string, error) {
	name, addr, err := canonicalHost(text)
	if err == nil && addr.IsValid() {
		err = errors.New("a wildcard does not match addresses; write a range")
	}
	return name, err
}

// wildcardBase is what follows the wildcard label; empty without one.
func (p HostPattern) wildcardBase() string {
	if p.Sub {
		return p.Host
	}
	if _, after, ok := strings.Cut(p.Host, "*."); ok {
		return after
	}
	return ""
}

// Literal says whether p names exactly one host or address.
func (p HostPattern) Literal() bool {
	return !p.Any && !p.Sub && !p.Middle && (p.Host != "" || p.Prefix.IsSingleIP())
}

// Match says whether h is covered. A wildcard never matches an address, and a
// range never matches a name: what a name resolves to is judged by DecideAddr.
func (p HostPattern) Match(h HostPort) bool {
	switch {
	case !h.IsValid() || p.Port != 0 && p.Port != h.Port:
		return false
	case p.Any:
		return true
	case h.Addr.IsValid():
		return p.Prefix.IsValid() && p.Prefix.Contains(h.Addr)
	}
	return p.matchName(h.Host)
}

func (p HostPattern) matchName(name string) bool {
	switch {
	case p.Host == "":
		return false
	case p.Sub:
		sub, ok := strings.CutSuffix(name, "."+p.Host)
		return ok && sub != ""
	case p.Middle:
		before, after, _ := strings.Cut(p.Host, "*")
		rest, ok := strings.CutPrefix(name, before)
		label, ok2 := strings.CutSuffix(rest, after)
		return ok && ok2 && label != "" && !strings.Contains(label, ".")
	}
	return name == p.Host
}

// String is the canonical spelling; it parses back to p.
func (p HostPattern) String() string {
	host := p.hostString()
	if p.Port == 0 {
		return host
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(p.Port))
}

func (p HostPattern) hostString() string {
	switch {
	case p.Any:
		return "*"
	case p.Sub:
		return "*." + p.Host
	case !p.Prefix.IsValid():
		return p.Host
	case p.Prefix.IsSingleIP():
		return p.Prefix.Addr().String()
	}
	return p.Prefix.String()
}
