package linux

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// netlinkMessage is one request, without the numbers that the socket gives it.
type netlinkMessage struct {
	kind  uint16
	flags uint16
	body  []byte // the family's fixed header, then attributes
	// quiet marks a message that the kernel does not acknowledge.
	quiet bool
}

// native is the byte order of netlink headers (netlink(7)); payloads of
// nf_tables are big-endian.
var native = binary.NativeEndian

// encode gives m the sequence number seq (linux/netlink.h, struct nlmsghdr).
func (m netlinkMessage) encode(seq uint32) []byte {
	flags := m.flags | unix.NLM_F_REQUEST
	if !m.quiet {
		flags |= unix.NLM_F_ACK
	}
	b := native.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(m.body)))
	b = native.AppendUint16(b, m.kind)
	b = native.AppendUint16(b, flags)
	b = native.AppendUint32(b, seq)
	b = native.AppendUint32(b, 0) // the kernel is addressed by port 0
	return align4(append(b, m.body...))
}

// attr is one attribute (struct nlattr): its length without the padding.
func attr(kind uint16, data ...[]byte) []byte {
	b := native.AppendUint16(make([]byte, 2), kind)
	for _, d := range data {
		b = append(b, d...)
	}
	native.PutUint16(b, uint16(len(b)))
	return align4(b)
}

// nest is attr for a list of attributes.
func nest(kind uint16, attrs ...[]byte) []byte { return attr(kind|unix.NLA_F_NESTED, attrs...) }

func align4(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func text(s string) []byte { return append([]byte(s), 0) }
func u32(n uint32) []byte  { return native.AppendUint32(nil, n) }
func be32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
func be16(n uint16) []byte { return binary.BigEndian.AppendUint16(nil, n) }
func joined(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// netlinkTimeout bounds the wait for an answer that the kernel gives before
// sendto returns.
const netlinkTimeout = time.Second

// transact sends all messages in one packet and waits for every answer. The
// first failure is the error.
//
// The socket was opened by the stage, which has no capability, and is used by
// the supervisor, whose child made the user namespace that owns the network: the
// owner of a user namespace holds every capability in it
// (user_namespaces(7)). The kernel judges the sender instead of the opener only
// where the packet has an explicit address (__netlink_ns_capable in
// net/netlink/af_netlink.c), hence sendto.
func transact(fd int, messages ...netlinkMessage) error {
	var packet []byte
	waiting := 0
	for i, m := range messages {
		packet = append(packet, m.encode(uint32(i+1))...)
		if !m.quiet {
			waiting++
		}
	}
	if err := sendNetlink(fd, packet); err != nil {
		return err
	}
	for waiting > 0 {
		answers, err := receiveNetlink(fd)
		if err != nil {
			return err
		}
		for m := range eachMessage(answers) {
			if err := errorOf(m); err != nil {
				return err
			}
			waiting--
		}
	}
	return nil
}

func sendNetlink(fd int, packet []byte) error {
	wait := unix.NsecToTimeval(int64(netlinkTimeout))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	if err := unix.Sendto(fd, packet, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	return nil
}

// receiveNetlink returns one packet; the kernel's are at most 32 KiB (netlink(7)).
func receiveNetlink(fd int) ([]byte, error) {
	buf := make([]byte, 32<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("netlink: %w", err)
		}
		return buf[:n], nil
	}
}

// errorOf is nil for an acknowledgement, which is an error of number 0.
func errorOf(m netlinkMessage) error {
	if m.kind != unix.NLMSG_ERROR || len(m.body) < 4 {
		return fmt.Errorf("netlink: answer of kind %d instead of an acknowledgement", m.kind)
	}
	if code := int32(native.Uint32(m.body)); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// eachMessage yields the messages of one packet; a length that does not fit
// ends it.
func eachMessage(b []byte) func(yield func(netlinkMessage) bool) {
	return func(yield func(netlinkMessage) bool) {
		for len(b) >= unix.SizeofNlMsghdr {
			size := int(native.Uint32(b))
			if size < unix.SizeofNlMsghdr || size > len(b) {
				return
			}
			m := netlinkMessage{kind: native.Uint16(b[4:]), flags: native.Uint16(b[6:]), body: b[unix.SizeofNlMsghdr:size]}
			if !yield(m) {
				return
			}
			b = b[min((size+3)&^3, len(b)):]
		}
	}
}
