package linux

import (
	"errors"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/policy"
)

// Connecting. The guard never lets connect continue: a caller that swaps the
// address, or the descriptor, after a check would reach any socket of the host.
// It connects a copy of the caller's socket itself, whatever the family, to the
// bytes that it read. A Unix path is opened first, and what was opened is decided
// about and connected to, by its descriptor.
//
// The server sees the supervisor as its peer (SO_PEERCRED): the same user, another
// process.

// maxConnecting bounds the connects that wait at the same time; each holds a
// thread. Further ones queue.
const maxConnecting = 128

// startConnect answers in the background, because connecting can wait.
func (in inspection) startConnect() {
	in.connecting <- struct{}{}
	in.connects.Go(func() {
		defer func() { <-in.connecting }()
		err := in.connect()
		var errno unix.Errno
		switch {
		case err == nil:
			in.listener.Return(in.call.ID, 0)
		case errors.As(err, &errno) && errno != 0:
			in.listener.Fail(in.call.ID, errno)
		default:
			in.listener.Fail(in.call.ID, unix.EACCES)
		}
	})
}

func (in inspection) connect() error {
	socket, err := in.copyOf(int(int32(in.call.Args[0])))
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	addr, raw, err := in.listener.ReadSockaddr(in.call, in.call.Args[1], in.call.Args[2])
	if err != nil && len(raw) == 0 {
		return err
	}
	family, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err // ENOTSOCK
	}
	if family != unix.AF_UNIX || addr.Path == "" {
		return connectRaw(socket, raw) // abstract names are the network namespace's own
	}
	return in.connectPath(socket, addr.Path)
}

func connectRaw(socket int, addr []byte) error {
	if len(addr) == 0 {
		return unix.EINVAL
	}
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(socket), uintptr(unsafe.Pointer(&addr[0])), uintptr(len(addr)))
	if errno != 0 {
		return errno
	}
	return nil
}

// copyOf duplicates a descriptor of the caller.
func (in inspection) copyOf(fd int) (int, error) {
	process, err := pidfdOf(in.call.PID)
	if err != nil {
		return -1, err
	}
	defer unix.Close(process)
	copied, err := unix.PidfdGetfd(process, fd, 0)
	if err != nil {
		return -1, err
	}
	if !in.listener.Valid(in.call.ID) { // the number could be another process by now
		unix.Close(copied)
		return -1, ErrGone
	}
	return copied, nil
}

// pidfdOf opens the process of a thread. Threads that do not share their
// descriptors (unshare(CLONE_FILES)) are looked at as their process before Linux
// 6.9; connecting another socket of it is no gain to anybody.
func pidfdOf(tid int) (int, error) {
	fd, err := unix.PidfdOpen(tid, 0)
	if err == nil {
		return fd, nil
	}
	const thread = unix.O_EXCL // PIDFD_THREAD of linux/pidfd.h
	if fd, err := unix.PidfdOpen(tid, thread); err == nil {
		return fd, nil
	}
	status, err := os.ReadFile(caller{tid}.proc("status"))
	if err != nil {
		return -1, err
	}
	leader, err := strconv.Atoi(statusField(status, "Tgid"))
	if err != nil {
		return -1, err
	}
	return unix.PidfdOpen(leader, 0)
}

func (in inspection) connectPath(socket int, path string) error {
	at, s, err := in.openSocket(path)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return unix.ECONNREFUSED // as the kernel says
	}
	if !in.madeInside(&st) {
		if in.hasMade(in.bound, s) {
			return unix.ECONNREFUSED // its server inside is gone; programs start another
		}
		if d := in.config.Plan.DecideSocket(s); d.Verdict != policy.Allow {
			in.reportSocket(s, d)
			return unix.EACCES
		}
	}
	return unix.Connect(socket, &unix.SockaddrUnix{Name: "/proc/self/fd/" + strconv.Itoa(at)})
}

// openSocket opens what a path of the caller's leads to, and says its canonical
// path.
func (in inspection) openSocket(path string) (int, string, error) {
	s, err := in.view.locate(caller{in.call.PID}, cwd, path, true)
	if err != nil {
		return -1, "", err
	}
	fd, err := in.view.open(s.path, unix.O_NOFOLLOW)
	if err != nil {
		return -1, "", err
	}
	name, err := named(readLink(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd)))
	if err != nil {
		unix.Close(fd)
		return -1, "", err
	}
	return fd, name, nil
}

func (in inspection) reportSocket(path string, d policy.Decision) {
	if in.config.OnViolation == nil {
		return
	}
	in.config.OnViolation(policy.Violation{
		Time: time.Now(), Kind: "socket", Operation: in.spec.call, Target: path,
		PID: in.call.PID, Program: programOf(in.call.PID),
		Rule: d.Rule, Origin: originOf(d), Reason: d.Reason, Hint: d.Hint, Count: 1,
	})
}

// Constants and sizes of linux/unix_diag.h.
const (
	diagShowVFS     = 2
	diagVFS         = 1  // UNIX_DIAG_VFS: struct unix_diag_vfs
	unixDiagRequest = 24 // struct unix_diag_req
	unixDiagAnswer  = 16 // struct unix_diag_msg
)

// madeInside says that a socket of the command's own network namespace listens at
// the file. The namespace is the run's alone, and a socket stays in the one it
// was made in. A file is bound to one socket, for good.
func (g *Guard) madeInside(file *unix.Stat_t) bool {
	g.diagMu.Lock()
	defer g.diagMu.Unlock()
	if g.diag < 0 {
		return false
	}
	request := make([]byte, unixDiagRequest)
	request[0] = unix.AF_UNIX
	native.PutUint32(request[4:], 1<<tcpListen) // Unix sockets share TCP's states
	native.PutUint32(request[12:], diagShowVFS)
	m := netlinkMessage{kind: unix.SOCK_DIAG_BY_FAMILY, flags: unix.NLM_F_DUMP, body: request, quiet: true}
	if sendNetlink(g.diag, m.encode(1)) != nil {
		return false
	}
	found := false
	for {
		packet, err := receiveNetlink(g.diag)
		if err != nil {
			return false
		}
		for m := range eachMessage(packet) {
			switch {
			case m.kind == unix.NLMSG_DONE:
				return found
			case m.kind == unix.NLMSG_ERROR:
				return false
			case len(m.body) >= unixDiagAnswer:
				found = found || boundTo(m.body[unixDiagAnswer:], file)
			}
		}
	}
}

// boundTo looks for the file among the attributes of one socket. The kernel says
// the low half of the inode's number, and the device as it numbers it itself:
// 12 bits of major, 20 of minor (linux/kdev_t.h).
func boundTo(attrs []byte, file *unix.Stat_t) bool {
	const header, minorBits = 4, 20
	for len(attrs) >= header {
		size, kind := int(native.Uint16(attrs)), native.Uint16(attrs[2:])
		if size < header || size > len(attrs) {
			return false
		}
		if value := attrs[header:size]; kind == diagVFS && len(value) >= 8 {
			dev := native.Uint32(value[4:])
			return native.Uint32(value) == uint32(file.Ino) &&
				unix.Mkdev(dev>>minorBits, dev&(1<<minorBits-1)) == file.Dev
		}
		attrs = attrs[min((size+3)&^3, len(attrs)):]
	}
	return false
}
