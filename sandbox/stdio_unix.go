//go:build unix

package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// leadsOut says that f is a socket that can be connected anew or sent anywhere:
// it belongs to the host's network, whichever process holds it, so the command
// gets a pipe instead. A connected stream of a Unix socket leads to its other end
// and nowhere else (EISCONN, unix(7)).
func leadsOut(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return false
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return true
	}
	out := true
	raw.Control(func(fd uintptr) { out = !isConnectedStream(int(fd)) })
	return out
}

func isConnectedStream(fd int) bool {
	own, err := unix.Getsockname(fd)
	if _, isUnix := own.(*unix.SockaddrUnix); err != nil || !isUnix {
		return false
	}
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_STREAM && kind != unix.SOCK_SEQPACKET {
		return false
	}
	_, err = unix.Getpeername(fd)
	return err == nil
}
