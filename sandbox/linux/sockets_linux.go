package linux

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/sandbox/linux/stage"
)

// opener makes sockets in the command's network namespace, in the order of
// specs. Those that were made are the caller's.
type opener func(specs ...stage.SocketSpec) ([]inside, error)

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
type taker func(stage.SocketSpec) (int, error)

func (open opener) take(spec stage.SocketSpec) (int, error) {
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
	left map[stage.SocketSpec][]inside
}

func newStock(open opener, specs []stage.SocketSpec) (*stock, error) {
	got, err := open(specs...)
	if err != nil {
		return nil, err
	}
	s := &stock{open: open, left: map[stage.SocketSpec][]inside{}}
	for i, spec := range specs {
		s.left[spec] = append(s.left[spec], got[i])
	}
	return s, nil
}

// take returns a socket of the stock, or a new one where there is none left.
func (s *stock) take(spec stage.SocketSpec) (int, error) {
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

// stageSockets is the supervisor's end of stage.MsgOpen.
type stageSockets struct {
	mu      sync.Mutex // one question at a time
	control *os.File
	answers chan stage.Message // closed when the stage has ended
}

func newStageSockets(control *os.File) *stageSockets {
	return &stageSockets{control: control, answers: make(chan stage.Message, 1)}
}

var errStageEnded = errors.New("the stage has ended")

// open is the opener of a running stage.
func (s *stageSockets) open(specs ...stage.SocketSpec) ([]inside, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []inside
	for part := range slices.Chunk(specs, stage.MaxSockets) {
		got, err := s.ask(part)
		if err != nil {
			closeInside(all)
			return nil, err
		}
		all = append(all, got...)
	}
	return all, nil
}

func (s *stageSockets) ask(specs []stage.SocketSpec) ([]inside, error) {
	if err := stage.Send(int(s.control.Fd()), stage.Message{Kind: stage.MsgOpen, Data: stage.EncodeSpecs(specs)}); err != nil {
		return nil, fmt.Errorf("%w: %v", errStageEnded, err)
	}
	m, ok := <-s.answers
	if !ok {
		return nil, errStageEnded
	}
	got, err := socketsOf(m, len(specs))
	if err != nil {
		closeFDs(m.FDs)
		return nil, fmt.Errorf("answer of the stage: %w", err)
	}
	return got, nil
}

// socketsOf puts the descriptors of an answer at their places.
func socketsOf(m stage.Message, want int) ([]inside, error) {
	faults, err := stage.DecodeFaults(m.Data)
	if err != nil {
		return nil, err
	}
	rest, got := m.FDs, []inside{}
	for _, fault := range faults {
		if fault != 0 {
			got = append(got, inside{-1, fault})
		} else if len(rest) > 0 {
			got, rest = append(got, inside{fd: rest[0]}), rest[1:]
		}
	}
	if len(faults) != want || len(got) != want || len(rest) != 0 {
		return nil, fmt.Errorf("%d sockets and %d descriptors, wanted %d", len(faults), len(m.FDs), want)
	}
	return got, nil
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
