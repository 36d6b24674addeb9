package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// HostPort is one canonical destination: the value that is compared, resolved
// and dialled. Made only by ParseHostPort and NewHostPort. The zero value is no
// destination, and Decide denies it.
type HostPort struct {
	Host string     // lower-case ASCII name without trailing dot; empty for a literal
	Addr netip.Addr // unmapped, without zone; invalid for a name
	Port uint16     // never 0
}

// ParseHostPort reads an authority, "host:port" or "[v6]:port". The port is
// required; the host is settled by CanonicalHost.
func ParseHostPort(text string) (HostPort, error) {
	host, port, err := splitAuthority(text)
	if err != nil {
		return HostPort{}, fmt.Errorf("destination %s: %w", quoteCut(text), err)
	}
	return NewHostPort(host, port)
}

// NewHostPort is ParseHostPort for callers that hold the two parts, as SOCKS5 does.
func NewHostPort(host string, port uint16) (HostPort, error) {
	name, addr, err := CanonicalHost(host)
	if err != nil {
		return HostPort{}, err
	}
	if port == 0 {
		return HostPort{}, fmt.Errorf("host %s: port 0 cannot be dialled", quoteCut(host))
	}
	return HostPort{Host: name, Addr: addr, Port: port}, nil
}

// splitAuthority cuts text at the colon of the port. An IPv6 address without
// brackets is refused: which colon is the port's would be a guess.
func splitAuthority(text string) (host string, port uint16, err error) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return "", 0, errors.New("no port")
	}
	host = text[:i]
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		return "", 0, errors.New("an IPv6 address needs brackets before its port")
	}
	port, err = parsePort(text[i+1:])
	return host, port, err
}

// parsePort accepts the one decimal spelling of 1 to 65535.
func parsePort(text string) (uint16, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 || strconv.FormatUint(port, 10) != text {
		return 0, fmt.Errorf("port %s: not a number from 1 to 65535", quoteCut(text))
	}
	return uint16(port), nil
}

// IsValid says whether h is a destination at all.
func (h HostPort) IsValid() bool {
	return h.Port != 0 && (h.Host != "") != h.Addr.IsValid()
}

// Name is the host without the port: the name, or the address without brackets.
func (h HostPort) Name() string {
	if h.Addr.IsValid() {
		return h.Addr.String()
	}
	return h.Host
}

// String is "host:port", with brackets around IPv6. It parses back to h.
func (h HostPort) String() string {
	if h.Addr.IsValid() {
		return netip.AddrPortFrom(h.Addr, h.Port).String()
	}
	return h.Host + ":" + strconv.Itoa(int(h.Port))
}
