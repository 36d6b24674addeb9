package linux

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// socketSpec is one socket as socket(2) takes it.
type socketSpec struct{ Domain, Type, Protocol int }

// maxSockets is how many sockets one message asks for; each may be a descriptor
// of the answer.
const maxSockets = maxFDs

// openSockets answers one msgOpen, in the stage. A socket belongs to the network
// namespace it was made in, whoever holds it, so this is all that the supervisor
// needs of the inside: it shapes and uses the sockets from where it is. What
// could not be made is an errno at its place.
func openSockets(m message) error {
	var specs []socketSpec
	if err := json.Unmarshal(m.data, &specs); err != nil {
		return fmt.Errorf("sockets to open: %w", err)
	}
	faults := make([]unix.Errno, len(specs))
	var fds []int
	defer func() { closeFDs(fds) }()
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
	return send(fdControl, message{kind: msgSockets, data: data, fds: fds})
}

// serveSockets answers the supervisor until it says that the network is ready.
// What it sent for the command meanwhile is returned, in order.
func serveSockets() ([]message, error) {
	var early []message
	for {
		m, err := receive(fdControl)
		switch {
		case err != nil:
			return nil, fmt.Errorf("wait for the network: %w", err)
		case m.kind == msgReady:
			return early, nil
		case m.kind == msgOpen:
			if err := openSockets(m); err != nil {
				return nil, err
			}
		default:
			early = append(early, m)
		}
	}
}

// opener makes sockets in the command's network namespace, in the order of
// specs. What is -1 in fds has its reason in faults. The descriptors are the
// caller's.
type opener func(specs ...socketSpec) (fds []int, faults []unix.Errno, err error)

// stageSockets is the supervisor's end of msgOpen.
type stageSockets struct {
	mu      sync.Mutex // one question at a time
	control int
	answers chan message // closed when the stage has ended
}

func newStageSockets(control int) *stageSockets {
	return &stageSockets{control: control, answers: make(chan message, 1)}
}

var errStageEnded = errors.New("the stage has ended")

func (s *stageSockets) open(specs ...socketSpec) (fds []int, faults []unix.Errno, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(specs) > 0 {
		n := min(len(specs), maxSockets)
		moreFDs, moreFaults, err := s.ask(specs[:n])
		fds, faults = append(fds, moreFDs...), append(faults, moreFaults...)
		if err != nil {
			closeFDs(fds)
			return nil, nil, err
		}
		specs = specs[n:]
	}
	return fds, faults, nil
}

func (s *stageSockets) ask(specs []socketSpec) ([]int, []unix.Errno, error) {
	data, err := json.Marshal(specs)
	if err != nil {
		return nil, nil, err
	}
	if err := send(s.control, message{kind: msgOpen, data: data}); err != nil {
		return nil, nil, fmt.Errorf("%w: %v", errStageEnded, err)
	}
	m, ok := <-s.answers
	if !ok {
		return nil, nil, errStageEnded
	}
	return socketsOf(m, len(specs))
}

// socketsOf puts the descriptors of an answer at their places.
func socketsOf(m message, want int) ([]int, []unix.Errno, error) {
	var faults []unix.Errno
	err := json.Unmarshal(m.data, &faults)
	rest, fds := m.fds, make([]int, len(faults))
	for i, fault := range faults {
		switch {
		case fault != 0:
			fds[i] = -1
		case len(rest) > 0:
			fds[i], rest = rest[0], rest[1:]
		default:
			err = errors.Join(err, errors.New("a descriptor is missing"))
		}
	}
	if err == nil && (len(faults) != want || len(rest) != 0) {
		err = fmt.Errorf("%d sockets and %d descriptors, wanted %d", len(faults), len(m.fds), want)
	}
	if err != nil {
		closeFDs(m.fds)
		return nil, nil, fmt.Errorf("answer of the stage: %w", err)
	}
	return fds, faults, nil
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
