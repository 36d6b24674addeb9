package policy

import "net/netip"

// AddrClass says what is special about an address. Empty: an ordinary one.
type AddrClass string

const (
	AddrLoopback    AddrClass = "a loopback address"
	AddrUnspecified AddrClass = "the unspecified address"
	AddrLinkLocal   AddrClass = "a link-local address"
	AddrMulticast   AddrClass = "a multicast address"
	AddrBroadcast   AddrClass = "the broadcast address"
	AddrMetadata    AddrClass = "a cloud metadata address"
	AddrPrivate     AddrClass = "a private address"
)

// classRow gives every address in Prefix its class; the first row that holds wins.
type classRow struct {
	prefix netip.Prefix
	class  AddrClass
}

// addrClasses lists what no name may resolve to, and the private ranges.
// Metadata rows stand first: some lie inside a wider row.
var addrClasses = []classRow{
	{prefix4(169, 254, 169, 254, 32), AddrMetadata}, // AWS, GCP, Azure, OpenStack
	{prefix4(169, 254, 170, 2, 32), AddrMetadata},   // AWS ECS task credentials
	{prefix4(169, 254, 170, 23, 32), AddrMetadata},  // AWS EKS pod identity
	{prefix4(100, 100, 100, 200, 32), AddrMetadata}, // Alibaba Cloud
	{prefix4(168, 63, 129, 16, 32), AddrMetadata},   // Azure wire server
	{prefix4(192, 0, 0, 192, 32), AddrMetadata},     // Oracle Cloud
	{prefix6("fd00:ec2::/32"), AddrMetadata},        // AWS
	{prefix6("fd20:ce::254/128"), AddrMetadata},     // GCP
	{prefix6("fd00:c1::a9fe:a9fe/128"), AddrMetadata},
	{prefix6("fd00:42::42/128"), AddrMetadata}, // Scaleway
	{prefix6("fd00:a9fe:a9fe::1/128"), AddrMetadata},
	{prefix6("fd00:100::100:200/128"), AddrMetadata},

	{prefix4(127, 0, 0, 0, 8), AddrLoopback},         // RFC 1122
	{prefix6("::1/128"), AddrLoopback},               // RFC 4291
	{prefix4(0, 0, 0, 0, 8), AddrUnspecified},        // RFC 1122; Linux connects 0.0.0.0 to itself
	{prefix6("::/128"), AddrUnspecified},             // RFC 4291
	{prefix4(169, 254, 0, 0, 16), AddrLinkLocal},     // RFC 3927
	{prefix6("fe80::/10"), AddrLinkLocal},            // RFC 4291
	{prefix4(224, 0, 0, 0, 4), AddrMulticast},        // RFC 5771
	{prefix6("ff00::/8"), AddrMulticast},             // RFC 4291
	{prefix4(255, 255, 255, 255, 32), AddrBroadcast}, // RFC 919
	{prefix4(10, 0, 0, 0, 8), AddrPrivate},           // RFC 1918
	{prefix4(172, 16, 0, 0, 12), AddrPrivate},        // RFC 1918
	{prefix4(192, 168, 0, 0, 16), AddrPrivate},       // RFC 1918
	{prefix4(100, 64, 0, 0, 10), AddrPrivate},        // RFC 6598, shared by carriers
	{prefix6("fc00::/7"), AddrPrivate},               // RFC 4193
	{prefix6("fec0::/10"), AddrPrivate},              // RFC 3879, site-local, deprecated
}

func prefix4(a, b, c, d byte, bits int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{a, b, c, d}), bits)
}

func prefix6(text string) netip.Prefix { return netip.MustParsePrefix(text) }

// ClassOf classifies a and, for an IPv6 address that carries an IPv4 address,
// what it carries: a translator or tunnel may deliver to that one.
func ClassOf(a netip.Addr) AddrClass {
	a = a.Unmap().WithZone("")
	if class := classOfPlain(a); class != "" {
		return class
	}
	for _, v4 := range EmbeddedIPv4(a) {
		if class := classOfPlain(v4); class != "" {
			return class
		}
	}
	return ""
}

func classOfPlain(a netip.Addr) AddrClass {
	for _, row := range addrClasses {
		if row.prefix.Contains(a) {
			return row.class
		}
	}
	return ""
}

// embedding says where addresses of a prefix carry an IPv4 address: the byte
// offsets, high byte first, each byte XORed with flip.
type embedding struct {
	prefix netip.Prefix
	at     [4]int
	flip   byte
}

var embeddings = []embedding{
	{prefix6("::ffff:0:0:0/96"), [4]int{12, 13, 14, 15}, 0}, // IPv4-translated, RFC 2765
	{prefix6("::/96"), [4]int{12, 13, 14, 15}, 0},           // IPv4-compatible, RFC 4291
	{prefix6("64:ff9b::/96"), [4]int{12, 13, 14, 15}, 0},    // NAT64, RFC 6052
	{prefix6("2002::/16"), [4]int{2, 3, 4, 5}, 0},           // 6to4, RFC 3056
	{prefix6("2001::/32"), [4]int{12, 13, 14, 15}, 0xff},    // Teredo client, RFC 4380
	{prefix6("2001::/32"), [4]int{4, 5, 6, 7}, 0},           // Teredo server
}

// EmbeddedIPv4 returns the IPv4 addresses that an IPv6 address carries. An
// IPv4-mapped address is not one of them: it is that IPv4 address. ISATAP (RFC
// 5214) is known by its interface identifier, so it may follow any prefix.
func EmbeddedIPv4(a netip.Addr) []netip.Addr {
	if !a.Is6() || a == netip.IPv6Unspecified() || a == netip.IPv6Loopback() {
		return nil
	}
	b := a.As16()
	var found []netip.Addr
	for _, e := range embeddings {
		if e.prefix.Contains(a.WithZone("")) {
			found = append(found, carried(b, e.at, e.flip))
		}
	}
	if localNAT64.Contains(a.WithZone("")) {
		found = append(found, carriedLocal(b)...)
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		found = append(found, carried(b, [4]int{12, 13, 14, 15}, 0))
	}
	return found
}

// localNAT64 is the prefix for translators of one's own, RFC 8215. Which layout
// of RFC 6052 its operator uses shows only by the zeros at the end.
var localNAT64 = prefix6("64:ff9b:1::/48")

// carriedLocal reads the /96 layout where it holds anything, and the shortest
// of the other layouts that fits.
func carriedLocal(b [16]byte) []netip.Addr {
	var found []netip.Addr
	if [4]byte(b[12:]) != [4]byte{} {
		found = append(found, carried(b, [4]int{12, 13, 14, 15}, 0))
	}
	for _, layout := range []struct {
		at   [4]int
		tail int // from here on all zero
	}{
		{[4]int{6, 7, 9, 10}, 11}, {[4]int{7, 9, 10, 11}, 12}, {[4]int{9, 10, 11, 12}, 13},
	} {
		if allZero(b[layout.tail:]) {
			return append(found, carried(b, layout.at, 0))
		}
	}
	return found
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func carried(b [16]byte, at [4]int, flip byte) netip.Addr {
	return netip.AddrFrom4([4]byte{b[at[0]] ^ flip, b[at[1]] ^ flip, b[at[2]] ^ flip, b[at[3]] ^ flip})
}
