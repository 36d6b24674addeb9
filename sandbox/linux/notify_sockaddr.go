package linux

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
)

// maxSockaddr is sizeof(struct sockaddr_storage) of linux/socket.h; the kernel
// refuses a longer address.
const maxSockaddr = 128

// Sockaddr is an address as a notified call gave it. The zero value is the
// address of no family, AF_UNSPEC, which dissolves an association.
type Sockaddr struct {
	Family uint16
	// Path is where a Unix address points, byte for byte: relative to the
	// caller's directory unless it begins with a slash. Empty for an abstract or
	// unnamed address.
	Path string
	// Abstract is the name of an abstract Unix address without its leading NUL;
	// it may hold any byte.
	Abstract string
	// Inet is the address of AF_INET and AF_INET6, and zero for others.
	Inet netip.AddrPort
}

// ParseSockaddr reads an address in the layout of linux/un.h, in.h and in6.h
// with the same limits as the kernel, so that both read the same name. It
// returns an error for what the kernel refuses.
func ParseSockaddr(raw []byte) (Sockaddr, error) {
	if len(raw) > maxSockaddr {
		return Sockaddr{}, fmt.Errorf("socket address: %d bytes, at most %d", len(raw), maxSockaddr)
	}
	if len(raw) < 2 {
		return Sockaddr{}, fmt.Errorf("socket address: %d bytes, too short for a family", len(raw))
	}
	s := Sockaddr{Family: binary.LittleEndian.Uint16(raw)}
	rest := raw[2:]
	switch s.Family {
	case afUnix:
		return parseUnix(s, rest)
	case afInet:
		return parseInet(s, rest)
	case afInet6:
		return parseInet6(s, rest)
	}
	return s, nil
}

// parseUnix follows unix_validate_addr and unix_mkname_bsd: a path ends at its
// first NUL, or at the length when there is none; an abstract name is as long as
// the length says.
func parseUnix(s Sockaddr, name []byte) (Sockaddr, error) {
	const sunPath = 108 // UNIX_PATH_MAX
	switch {
	case len(name) > sunPath:
		return Sockaddr{}, fmt.Errorf("unix socket address: path of %d bytes, at most %d", len(name), sunPath)
	case len(name) == 0:
	case name[0] == 0:
		s.Abstract = string(name[1:])
	default:
		path, _, _ := bytes.Cut(name, []byte{0})
		s.Path = string(path)
	}
	return s, nil
}

// Both Internet forms have the port first. The address of sockaddr_in6 comes
// after the flow label; its scope, which is last, may be left out (RFC 2133).
const (
	inetLen, inetAddr   = 16 - 2, 2 // sizeof(struct sockaddr_in) without the family
	inet6Len, inet6Addr = 24 - 2, 6 // SIN6_LEN_RFC2133 without the family
)

func parseInet(s Sockaddr, rest []byte) (Sockaddr, error) {
	if len(rest) < inetLen {
		return Sockaddr{}, fmt.Errorf("IPv4 socket address: %d bytes, at least %d", len(rest)+2, inetLen+2)
	}
	ip := netip.AddrFrom4([4]byte(rest[inetAddr:]))
	s.Inet = netip.AddrPortFrom(ip, binary.BigEndian.Uint16(rest))
	return s, nil
}

func parseInet6(s Sockaddr, rest []byte) (Sockaddr, error) {
	if len(rest) < inet6Len {
		return Sockaddr{}, fmt.Errorf("IPv6 socket address: %d bytes, at least %d", len(rest)+2, inet6Len+2)
	}
	ip := netip.AddrFrom16([16]byte(rest[inet6Addr:]))
	s.Inet = netip.AddrPortFrom(ip, binary.BigEndian.Uint16(rest))
	return s, nil
}
