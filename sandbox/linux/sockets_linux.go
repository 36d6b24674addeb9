package linux

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
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
// specs. Those that were made are the caller's.
type opener func(specs ...socketSpec) ([]inside, error)

// inside is one socket that was asked for; fault says why there is none.
type inside struct {
	fd    int // -1: none
	fault unix.Errno
}

func (i inside) socket() (int, error) {
	if i.fd < 0 {
		return -1, fmt.Errorf("make a socket inside: %w", i.fault)
	}
	return i.fd, nil
}

func closeInside(list []inside) {
	for _, i := range list {
		if i.fd >= 0 {
			unix.Close(i.fd)
		}
	}
}

// taker is opener for one socket.
type taker func(socketSpec) (int, error)

func (open opener) take(spec socketSpec) (int, error) {
	got, err := open(spec)
	if err != nil {
		return -1, err
	}
	return got[0].socket()
}

// stock holds sockets that were made by one question: each question costs every
// start a tenth of a millisecond.
type stock struct {
	open opener
	left map[socketSpec][]inside
}

func newStock(open opener, specs []socketSpec) (*stock, error) {
	got, err := open(specs...)
	if err != nil {
		return nil, err
	}
	s := &stock{open: open, left: map[socketSpec][]inside{}}
	for i, spec := range specs {
		s.left[spec] = append(s.left[spec], got[i])
	}
	return s, nil
}

// take returns a socket of the stock, or a new one where there is none left.
func (s *stock) take(spec socketSpec) (int, error) {
	left := s.left[spec]
	if len(left) == 0 {
		return s.open.take(spec)
	}
	s.left[spec] = left[1:]
	return left[0].socket()
}

// discard closes what was not taken.
func (s *stock) discard() {
	for _, left := range s.left {
		closeInside(left)
	}
}

// stageSockets is the supervisor's end of msgOpen.
type stageSockets struct {
	mu      sync.Mutex // one question at a time
	control *os.File
	answers chan message // closed when the stage has ended
}

func newStageSockets(control *os.File) *stageSockets {
	return &stageSockets{control: control, answers: make(chan message, 1)}
}

var errStageEnded = errors.New("the stage has ended")

// open is the opener of a running stage.
func (s *stageSockets) open(specs ...socketSpec) ([]inside, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []inside
	for part := range slices.Chunk(specs, maxSockets) {
		got, err := s.ask(part)
		if err != nil {
			closeInside(all)
			return nil, err
		}
		all = append(all, got...)
	}
	return all, nil
}

func (s *stageSockets) ask(specs []socketSpec) ([]inside, error) {
	data, err := json.Marshal(specs)
	if err != nil {
		return nil, err
	}
	if err := send(int(s.control.Fd()), message{kind: msgOpen, data: data}); err != nil {
		return nil, fmt.Errorf("%w: %v", errStageEnded, err)
	}
	m, ok := <-s.answers
	if !ok {
		return nil, errStageEnded
	}
	got, err := socketsOf(m, len(specs))
	if err != nil {
		closeFDs(m.fds)
		return nil, fmt.Errorf("answer of the stage: %w", err)
	}
	return got, nil
}

// socketsOf puts the descriptors of an answer at their places.
func socketsOf(m message, want int) ([]inside, error) {
	var faults []unix.Errno
	if err := json.Unmarshal(m.data, &faults); err != nil {
		return nil, err
	}
	rest, got := m.fds, []inside{}
	for _, fault := range faults {
		if fault != 0 {
			got = append(got, inside{-1, fault})
		} else if len(rest) > 0 {
			got, rest = append(got, inside{fd: rest[0]}), rest[1:]
		}
	}
	if len(faults) != want || len(got) != want || len(rest) != 0 {
		return nil, fmt.Errorf("%d sockets and %d descriptors, wanted %d", len(faults), len(m.fds), want)
	}
	return got, nil
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
