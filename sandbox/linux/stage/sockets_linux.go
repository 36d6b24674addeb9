package stage

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// SocketSpec is one socket as socket(2) takes it.
type SocketSpec struct{ Domain, Type, Protocol int }

// MaxSockets is how many sockets one message asks for; each may be a descriptor
// of the answer.
const MaxSockets = MaxFDs

// OpenSockets answers one MsgOpen, in the stage. A socket belongs to the network
// namespace it was made in, whoever holds it, so this is all that the supervisor
// needs of the inside: it shapes and uses the sockets from where it is. What
// could not be made is an errno at its place.
func OpenSockets(m Message) error {
	specs, err := decodeSpecs(m.Data)
	if err != nil {
		return fmt.Errorf("sockets to open: %w", err)
	}
	faults := make([]unix.Errno, len(specs))
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	for i, s := range specs {
		fd, err := unix.Socket(s.Domain, s.Type|unix.SOCK_CLOEXEC, s.Protocol)
		if err != nil {
			errors.As(err, &faults[i])
			continue
		}
		fds = append(fds, fd)
	}
	return Send(FDControl, Message{Kind: MsgSockets, Data: encodeFaults(faults), FDs: fds})
}

// EncodeSpecs is the payload of MsgOpen.
func EncodeSpecs(specs []SocketSpec) []byte {
	var w writer
	writeList(&w, specs, func(s SocketSpec) {
		w.number(uint64(s.Domain))
		w.number(uint64(s.Type))
		w.number(uint64(s.Protocol))
	})
	return w
}

func decodeSpecs(data []byte) ([]SocketSpec, error) {
	r := reader{rest: data}
	specs := readList(&r, func() SocketSpec {
		return SocketSpec{Domain: int(r.number()), Type: int(r.number()), Protocol: int(r.number())}
	})
	return specs, r.end()
}

func encodeFaults(faults []unix.Errno) []byte {
	var w writer
	writeList(&w, faults, func(e unix.Errno) { w.number(uint64(e)) })
	return w
}

// DecodeFaults reads the payload of MsgSockets: an errno for each socket.
func DecodeFaults(data []byte) ([]unix.Errno, error) {
	r := reader{rest: data}
	faults := readList(&r, func() unix.Errno { return unix.Errno(r.number()) })
	return faults, r.end()
}

// ServeSockets answers the supervisor until it says that the network is ready.
// What it sent for the command meanwhile is returned, in order.
func ServeSockets() ([]Message, error) {
	var early []Message
	for {
		m, err := Receive(FDControl)
		switch {
		case err != nil:
			return nil, fmt.Errorf("wait for the network: %w", err)
		case m.Kind == MsgReady:
			return early, nil
		case m.Kind == MsgOpen:
			if err := OpenSockets(m); err != nil {
				return nil, err
			}
		default:
			early = append(early, m)
		}
	}
}
