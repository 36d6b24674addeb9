package proxy

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"
)

const (
	sshPort  = 22
	httpPort = 80
)

// SSH protocol numbers, RFC 4253 sections 6, 11.1 and RFC 4250 section 4.2.
const (
	sshMsgDisconnect            = 1
	sshHostNotAllowedToConnect  = 1
	sshBlock, sshMinimumPadding = 8, 4
	sshMaxReason                = 900
)

// sshRefusal is what an SSH server says that does not let a client in: its
// greeting and a plaintext SSH_MSG_DISCONNECT, whose text ssh prints.
func sshRefusal(reason string) []byte {
	if len(reason) > sshMaxReason {
		reason = reason[:sshMaxReason]
	}
	payload := []byte{sshMsgDisconnect}
	payload = binary.BigEndian.AppendUint32(payload, sshHostNotAllowedToConnect)
	payload = binary.BigEndian.AppendUint32(payload, uint32(len(reason)))
	payload = append(payload, reason...)
	payload = binary.BigEndian.AppendUint32(payload, 0) // language tag
	const lengths = 4 + 1                               // packet length, padding length
	padding := sshBlock - (lengths+len(payload))%sshBlock
	if padding < sshMinimumPadding {
		padding += sshBlock
	}
	out := []byte("SSH-2.0-gosrt\r\n")
	out = binary.BigEndian.AppendUint32(out, uint32(1+len(payload)+padding))
	out = append(out, byte(padding))
	out = append(out, payload...)
	return append(out, make([]byte, padding)...)
}

// refusalConn stands in for a destination that was refused: it says what it has
// to say and swallows everything until the client leaves.
type refusalConn struct {
	say    *bytes.Reader
	closed chan struct{}
	once   sync.Once
}

func newRefusalConn(say []byte) *refusalConn {
	return &refusalConn{say: bytes.NewReader(say), closed: make(chan struct{})}
}

func (c *refusalConn) Read(p []byte) (int, error) {
	if c.say.Len() > 0 {
		return c.say.Read(p)
	}
	return 0, io.EOF
}

func (c *refusalConn) Write(p []byte) (int, error) {
	select {
	case <-c.closed:
		return 0, net.ErrClosed
	default:
		return len(p), nil
	}
}

func (c *refusalConn) Close() error                     { c.once.Do(func() { close(c.closed) }); return nil }
func (c *refusalConn) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4zero} }
func (c *refusalConn) RemoteAddr() net.Addr             { return c.LocalAddr() }
func (c *refusalConn) SetDeadline(time.Time) error      { return nil }
func (c *refusalConn) SetReadDeadline(time.Time) error  { return nil }
func (c *refusalConn) SetWriteDeadline(time.Time) error { return nil }
