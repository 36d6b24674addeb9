package linux

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// loopback is the interface index of lo, the first of every network namespace.
const loopback = 1

// sources are the addresses that the namespace itself has, beside loopback:
// programs ask for one before they look up a name (AI_ADDRCONFIG in
// getaddrinfo(3)), and it is the source of captured connections, so that none
// can meet itself. A server inside may be found at them. They lie in the ranges of proxy's stand-in addresses.
var sources = []netip.Addr{
	netip.MustParseAddr("198.18.0.1"),        // RFC 2544, benchmarks: never routed
	netip.MustParseAddr("fd67:6f73:7274::1"), // RFC 4193, "gosrt" in ASCII
}

// everyAddressLocal makes each address of source's family one of the
// namespace's own, so that a socket bound to the wildcard meets every
// connection and a datagram to a port nobody has is refused at once.
func everyAddressLocal(source netip.Addr) []netlinkMessage {
	family := uint8(unix.AF_INET)
	if source.Is6() {
		family = unix.AF_INET6
	}
	ip := source.AsSlice()
	create := uint16(unix.NLM_F_CREATE | unix.NLM_F_REPLACE)
	return []netlinkMessage{
		{kind: unix.RTM_NEWADDR, flags: create, body: joined(
			// struct ifaddrmsg: family, prefix length, flags, scope, index. An
			// IPv6 address is used at once (IFA_F_NODAD, rtnetlink(7)).
			[]byte{family, uint8(source.BitLen()), unix.IFA_F_NODAD, unix.RT_SCOPE_UNIVERSE}, u32(loopback),
			attr(unix.IFA_LOCAL, ip), attr(unix.IFA_ADDRESS, ip),
		)},
		{kind: unix.RTM_NEWROUTE, flags: create, body: joined(
			// struct rtmsg: family, destination and source length (0: everything),
			// tos, table, protocol, scope, type, flags.
			[]byte{family, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL}, u32(0),
			attr(unix.RTA_OIF, u32(loopback)), attr(unix.RTA_PREFSRC, ip),
		)},
	}
}

// redirectTable names the nf_tables table.
const redirectTable = "gosrt"

// redirectPriority is that of destination NAT (NF_IP_PRI_NAT_DST in
// linux/netfilter_ipv4.h).
const redirectPriority = -100

// redirect sends each TCP connection that is not to loopback or to sources to
// the captured listener of its family. The listener learns where it was going with
// SO_ORIGINAL_DST. A port of 0 leaves a family out.
func redirect(port4, port6 uint16) []netlinkMessage {
	messages := []netlinkMessage{
		batch(unix.NFNL_MSG_BATCH_BEGIN),
		nft(unix.NFT_MSG_NEWTABLE, unix.NLM_F_CREATE, attr(unix.NFTA_TABLE_NAME, text(redirectTable))),
		nft(unix.NFT_MSG_NEWCHAIN, unix.NLM_F_CREATE,
			attr(unix.NFTA_CHAIN_TABLE, text(redirectTable)),
			attr(unix.NFTA_CHAIN_NAME, text("output")),
			nest(unix.NFTA_CHAIN_HOOK,
				attr(unix.NFTA_HOOK_HOOKNUM, be32(unix.NF_INET_LOCAL_OUT)),
				attr(unix.NFTA_HOOK_PRIORITY, be32(redirectPriority&0xffffffff))),
			attr(unix.NFTA_CHAIN_TYPE, text("nat"))),
	}
	if port4 != 0 {
		// The destination is at 16 (RFC 791); 127.0.0.0/8 is its first byte.
		messages = append(messages, redirectRule(unix.NFPROTO_IPV4, 16, []byte{127}, sources[0].AsSlice(), port4))
	}
	if port6 != 0 {
		// The destination is at 24 (RFC 8200).
		messages = append(messages, redirectRule(unix.NFPROTO_IPV6, 24, netip.IPv6Loopback().AsSlice(), sources[1].AsSlice(), port6))
	}
	return append(messages, batch(unix.NFNL_MSG_BATCH_END))
}

// redirectRule is, in nft's words:
//
//	meta nfproto FAMILY meta l4proto tcp DESTINATION != LOOPBACK DESTINATION != SOURCE tcp dport != 53 redirect to :PORT
func redirectRule(family byte, destination uint32, loopback, source []byte, port uint16) netlinkMessage {
	return nft(unix.NFT_MSG_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_APPEND,
		attr(unix.NFTA_RULE_TABLE, text(redirectTable)),
		attr(unix.NFTA_RULE_CHAIN, text("output")),
		nest(unix.NFTA_RULE_EXPRESSIONS,
			loadMeta(unix.NFT_META_NFPROTO), compare(unix.NFT_CMP_EQ, []byte{family}),
			loadMeta(unix.NFT_META_L4PROTO), compare(unix.NFT_CMP_EQ, []byte{unix.IPPROTO_TCP}),
			loadPayload(unix.NFT_PAYLOAD_NETWORK_HEADER, destination, uint32(len(loopback))), compare(unix.NFT_CMP_NEQ, loopback),
			loadPayload(unix.NFT_PAYLOAD_NETWORK_HEADER, destination, uint32(len(source))), compare(unix.NFT_CMP_NEQ, source),
			loadPayload(unix.NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2), compare(unix.NFT_CMP_NEQ, be16(dnsPort)),
			expression("immediate",
				attr(unix.NFTA_IMMEDIATE_DREG, be32(unix.NFT_REG_1)),
				nest(unix.NFTA_IMMEDIATE_DATA, attr(unix.NFTA_DATA_VALUE, be16(port)))),
			expression("redir", attr(unix.NFTA_REDIR_REG_PROTO_MIN, be32(unix.NFT_REG_1))),
		))
}

func expression(name string, attrs ...[]byte) []byte {
	return nest(unix.NFTA_LIST_ELEM, attr(unix.NFTA_EXPR_NAME, text(name)), nest(unix.NFTA_EXPR_DATA, attrs...))
}

func loadMeta(key uint32) []byte {
	return expression("meta", attr(unix.NFTA_META_DREG, be32(unix.NFT_REG_1)), attr(unix.NFTA_META_KEY, be32(key)))
}

func loadPayload(base, offset, size uint32) []byte {
	return expression("payload",
		attr(unix.NFTA_PAYLOAD_DREG, be32(unix.NFT_REG_1)),
		attr(unix.NFTA_PAYLOAD_BASE, be32(base)),
		attr(unix.NFTA_PAYLOAD_OFFSET, be32(offset)),
		attr(unix.NFTA_PAYLOAD_LEN, be32(size)))
}

func compare(op uint32, value []byte) []byte {
	return expression("cmp",
		attr(unix.NFTA_CMP_SREG, be32(unix.NFT_REG_1)),
		attr(unix.NFTA_CMP_OP, be32(op)),
		nest(unix.NFTA_CMP_DATA, attr(unix.NFTA_DATA_VALUE, value)))
}

// nft is one message of nf_tables for the family inet, which is both.
func nft(kind, flags uint16, attrs ...[]byte) netlinkMessage {
	return netlinkMessage{
		kind:  unix.NFNL_SUBSYS_NFTABLES<<8 | kind,
		flags: flags,
		body:  append(nfgenmsg(unix.NFPROTO_INET, 0), joined(attrs...)...),
	}
}

// batch begins or ends a transaction: all of it or nothing.
func batch(kind uint16) netlinkMessage {
	return netlinkMessage{kind: kind, quiet: true, body: nfgenmsg(unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES)}
}

// nfgenmsg is the fixed header of netfilter (linux/netfilter/nfnetlink.h).
func nfgenmsg(family byte, resource uint16) []byte {
	return append([]byte{family, unix.NFNETLINK_V0}, be16(resource)...)
}
