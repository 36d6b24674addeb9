package proxy

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// tcpQuiet asks the kernel when c last carried data (struct tcp_info in
// linux/tcp.h, milliseconds; 4 microseconds a call).
func tcpQuiet(c *net.TCPConn) (time.Duration, bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	var info *unix.TCPInfo
	if ctlErr := raw.Control(func(fd uintptr) {
		info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	}); ctlErr != nil || err != nil {
		return 0, false
	}
	return time.Duration(min(info.Last_data_recv, info.Last_data_sent)) * time.Millisecond, true
}

// splices says whether the kernel moves bytes between two TCP connections.
const splices = true
