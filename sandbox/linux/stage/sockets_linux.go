package stage

import (
	"encoding/json"
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
	var specs []SocketSpec
	if err := json.Unmarshal(m.Data, &specs); err != nil {
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
	data, err := json.Marshal(faults)
	if err != nil {
		return err
	}
	return Send(FDControl, Message{Kind: MsgSockets, Data: data, FDs: fds})
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
