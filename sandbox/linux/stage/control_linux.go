package stage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Kind says what a Message of the control socket is. The socket joins
// supervisor and stage: a SOCK_SEQPACKET pair, one packet a message, a kind byte
// and a payload, descriptors beside it. The command never holds it.
type Kind byte

const (
	// From the stage.
	MsgSockets   Kind = 'L' // what MsgOpen asked for; payload: an errno for each, descriptors of those with 0
	MsgMounts    Kind = 'M' // descriptor of the stage's mount namespace, for Value.Later
	MsgNotify    Kind = 'N' // descriptor of the seccomp listener
	MsgStarted   Kind = 'S' // the command runs; payload: its pid inside
	MsgStopped   Kind = 'T' // the command was stopped by a signal
	MsgContinued Kind = 'C'
	MsgExit      Kind = 'X' // payload: how it ended (status.go)
	MsgFailed    Kind = 'F' // set-up failed; payload: text. The command did not run
	// From the supervisor.
	MsgSignal     Kind = 'K' // payload: signal number
	MsgForeground Kind = 'G' // give the command the terminal and continue it
	MsgOpen       Kind = 'O' // payload: sockets to make inside (sockets_linux.go)
	MsgReady      Kind = 'R' // the network is as the plan wants it; the command may start
)

// MaxFDs bounds the descriptors of one message; SCM_MAX_FD is 253 (scm.h).
const MaxFDs = 64

// Message is one packet. Received descriptors are the receiver's to close.
type Message struct {
	Kind Kind
	Data []byte
	FDs  []int
}

// SocketPair returns both ends, close-on-exec.
func SocketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control"), nil
}

// Send cuts what is longer than a message may be.
func Send(fd int, m Message) error {
	var rights []byte
	if len(m.FDs) > 0 {
		rights = unix.UnixRights(m.FDs...)
	}
	data := append([]byte{byte(m.Kind)}, m.Data[:min(len(m.Data), maxMessage-1)]...)
	for {
		err := unix.Sendmsg(fd, data, rights, nil, unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Receive returns io.EOF once every other end is closed and what was sent has been
// received. An end that is closed with messages unread makes one ECONNRESET
// overtake those that it had sent (net/unix/af_unix.c, unix_release_sock).
func Receive(fd int) (Message, error) {
	buf := make([]byte, maxMessage)
	oob := make([]byte, unix.CmsgSpace(MaxFDs*4))
	for {
		n, oobn, flags, _, err := unix.Recvmsg(fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNRESET):
			continue
		case err != nil:
			return Message{}, err
		case n == 0:
			return Message{}, io.EOF
		case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
			return Message{}, errors.New("control message cut short")
		}
		fds, err := passedFDs(oob[:oobn])
		return Message{Kind: Kind(buf[0]), Data: buf[1:n], FDs: fds}, err
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

// Number encodes a payload that is one number.
func Number(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }

// NumberOf returns 0 for a payload that is none.
func NumberOf(data []byte) int {
	if len(data) < 4 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(data))
}
