package linux

import (
	"errors"
	"net"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OriginalDst is where the program inside wanted to connect when c was captured.
func OriginalDst(c net.Conn) (netip.AddrPort, error) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return netip.AddrPort{}, errors.New("not a TCP connection")
	}
	local := tcp.LocalAddr().(*net.TCPAddr).AddrPort()
	raw, err := tcp.SyscallConn()
	if err != nil {
		return netip.AddrPort{}, err
	}
	var dst netip.AddrPort
	var fault error
	err = raw.Control(func(fd uintptr) { dst, fault = beforeRedirect(fd, local) })
	if errors.Is(fault, unix.ENOENT) || errors.Is(fault, unix.ENOPROTOOPT) {
		return local, err // not redirected: the listener has that very address
	}
	return dst, errors.Join(err, fault)
}

// beforeRedirect asks connection tracking (linux/netfilter_ipv4.h; the IPv6
// option, IP6T_SO_ORIGINAL_DST in linux/netfilter_ipv6/ip6_tables.h, has the same number).
func beforeRedirect(fd uintptr, local netip.AddrPort) (netip.AddrPort, error) {
	if local.Addr().Unmap().Is4() {
		var sa unix.RawSockaddrInet4
		err := getsockopt(fd, unix.SOL_IP, unsafe.Pointer(&sa), unix.SizeofSockaddrInet4)
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), hostOrder(sa.Port)), err
	}
	var sa unix.RawSockaddrInet6
	err := getsockopt(fd, unix.SOL_IPV6, unsafe.Pointer(&sa), unix.SizeofSockaddrInet6)
	return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), hostOrder(sa.Port)), err
}

func getsockopt(fd uintptr, level int, to unsafe.Pointer, size uint32) error {
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, uintptr(level), unix.SO_ORIGINAL_DST,
		uintptr(to), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// hostOrder reads a port as it lies in a sockaddr, in network order.
func hostOrder(port uint16) uint16 {
	b := native.AppendUint16(nil, port)
	return uint16(b[0])<<8 | uint16(b[1])
}
