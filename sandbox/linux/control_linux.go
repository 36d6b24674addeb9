package linux

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// The control socket joins supervisor and stage: a SOCK_SEQPACKET pair,
// one packet a message, a kind byte and a payload, descriptors beside it. The
// command never holds it.
type kind byte

const (
	// From the stage.
	msgSockets   kind = 'L' // what msgOpen asked for; payload: an errno for each, descriptors of those with 0
	msgNotify    kind = 'N' // descriptor of the seccomp listener
	msgStarted   kind = 'S' // the command runs; payload: its pid inside
	msgStopped   kind = 'T' // the command was stopped by a signal
	msgContinued kind = 'C'
	msgExit      kind = 'X' // payload: how it ended (status.go)
	msgFailed    kind = 'F' // set-up failed; payload: text. The command did not run
	// From the supervisor.
	msgSignal     kind = 'K' // payload: signal number
	msgForeground kind = 'G' // give the command the terminal and continue it
	msgOpen       kind = 'O' // payload: sockets to make inside (sockets_linux.go)
	msgReady      kind = 'R' // the network is as the plan wants it; the command may start
)

// maxMessage is far above any payload (error texts are cut) and below the
// default socket buffer (net.core.wmem_default, 212992).
const maxMessage = 16 << 10

// maxFDs bounds the descriptors of one message; SCM_MAX_FD is 253 (scm.h).
const maxFDs = 64

type message struct {
	kind kind
	data []byte
	fds  []int
}

// socketPair returns both ends, close-on-exec.
func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control"), nil
}

func send(fd int, m message) error {
	var rights []byte
	if len(m.fds) > 0 {
		rights = unix.UnixRights(m.fds...)
	}
	data := append([]byte{byte(m.kind)}, m.data[:min(len(m.data), maxMessage-1)]...)
	for {
		err := unix.Sendmsg(fd, data, rights, nil, unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// receive returns io.EOF once every other end is closed.
func receive(fd int) (message, error) {
	buf := make([]byte, maxMessage)
	oob := make([]byte, unix.CmsgSpace(maxFDs*4))
	for {
		n, oobn, flags, _, err := unix.Recvmsg(fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return message{}, err
		case n == 0:
			return message{}, io.EOF
		case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
			return message{}, errors.New("control message cut short")
		}
		fds, err := passedFDs(oob[:oobn])
		return message{kind: kind(buf[0]), data: buf[1:n], fds: fds}, err
	}
}

func passedFDs(oob []byte) ([]int, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var all []int
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			return all, err
		}
		all = append(all, fds...)
	}
	return all, nil
}

func number(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }

func numberOf(data []byte) int {
	if len(data) < 4 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(data))
}
