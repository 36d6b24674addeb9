package linux

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrGone says that nobody waits for an answer any more: the caller died, or a
// signal interrupted its call, which it may repeat under another ID.
var ErrGone = errors.New("the notified call is gone")

// Call is one notified call. The caller waits until it is answered by ID, once.
type Call struct {
	ID   uint64
	PID  int // the calling thread in the reader's pid namespace; 0 when it is not visible there
	Nr   int
	Args [6]uint64
}

// The kernel's structures, of linux/seccomp.h. The kernel's may be longer (see
// SECCOMP_GET_NOTIF_SIZES); these are their beginnings.
type (
	seccompData struct {
		nr   int32
		arch uint32
		ip   uint64
		args [6]uint64
	}
	seccompNotif struct {
		id    uint64
		pid   uint32
		flags uint32
		data  seccompData
	}
	seccompResponse struct {
		id    uint64
		value int64
		errno int32 // negative
		flags uint32
	}
	seccompAddFD struct {
		id         uint64
		flags      uint32
		source     uint32
		target     uint32
		targetFlag uint32
	}
	notifSizes struct{ notif, response, data uint16 }
)

// Listener answers the calls of a NotifyFilter. Recv is for one goroutine at a
// time; the other methods are for any number.
type Listener struct {
	fd    int
	stop  int // eventfd
	sizes notifSizes
	recv  sync.Mutex   // one receiver, since the ioctl blocks when another was faster
	life  sync.RWMutex // written by Close: no descriptor is used after it was given up
	once  sync.Once
}

// NewListener takes over a descriptor that InstallNotify returned. On an error
// the descriptor is still the caller's.
func NewListener(fd int) (*Listener, error) {
	l := &Listener{fd: fd}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&l.sizes)))
	if errno != 0 {
		return nil, fmt.Errorf("seccomp notification: sizes of the kernel's structures: %w", errno)
	}
	var err error
	if l.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("seccomp notification: %w", err)
	}
	l.wakeOnSameProcessor()
	return l, nil
}

// wakeOnSameProcessor spares most of a round trip where the kernel can do it
// (Linux 6.6); elsewhere the request fails and nothing is different.
func (l *Listener) wakeOnSameProcessor() {
	unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
}

// Close ends Recv, then gives the descriptor up: calls that wait, and those that
// come later, fail with ENOSYS.
func (l *Listener) Close() error {
	err := os.ErrClosed
	l.once.Do(func() {
		_, err = unix.Write(l.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		l.life.Lock()
		defer l.life.Unlock()
		err = errors.Join(err, unix.Close(l.fd), unix.Close(l.stop))
		l.fd, l.stop = -1, -1
	})
	return err
}

// Recv waits for the next call. It returns io.EOF when the last process under
// the filter is gone, and os.ErrClosed after Close.
func (l *Listener) Recv() (Call, error) {
	l.recv.Lock()
	defer l.recv.Unlock()
	l.life.RLock()
	defer l.life.RUnlock()
	for {
		if err := l.wait(); err != nil {
			return Call{}, err
		}
		c, err := l.take()
		switch {
		case err == nil:
			return c, nil
		case !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINTR):
			return Call{}, fmt.Errorf("seccomp notification: receive: %w", err)
		}
		// ENOENT: the caller went away between poll and receive.
	}
}

// wait polls first, because the receiving ioctl cannot be interrupted from
// another goroutine and does not end with the last caller.
func (l *Listener) wait() error {
	if l.fd < 0 {
		return os.ErrClosed
	}
	fds := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}, {Fd: int32(l.stop), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case fds[1].Revents != 0:
			return os.ErrClosed
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("seccomp notification: wait: %w", err)
		case fds[0].Revents&unix.POLLIN != 0:
			return nil
		case fds[0].Revents != 0:
			return io.EOF
		}
	}
}

func (l *Listener) take() (Call, error) {
	// Words, so that the buffer is aligned; zero, because the kernel insists.
	words := make([]uint64, (max(int(l.sizes.notif), int(unsafe.Sizeof(seccompNotif{})))+7)/8)
	if _, err := ioctl(l.fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&words[0])); err != nil {
		return Call{}, err
	}
	n := (*seccompNotif)(unsafe.Pointer(&words[0]))
	return Call{ID: n.id, PID: int(n.pid), Nr: int(n.data.nr), Args: n.data.args}, nil
}

// Continue lets the kernel perform the call, with whatever its memory holds by
// then. It must never be the answer that grants something.
func (l *Listener) Continue(id uint64) error {
	return l.respond(seccompResponse{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE})
}

// Fail makes the call fail; errno must not be zero.
func (l *Listener) Fail(id uint64, errno unix.Errno) error {
	if errno == 0 {
		return errors.New("BUG(gosrt): seccomp notification: failure without an errno")
	}
	return l.respond(seccompResponse{id: id, errno: -int32(errno)})
}

// Return makes the call return value without being performed.
func (l *Listener) Return(id uint64, value int64) error {
	return l.respond(seccompResponse{id: id, value: value})
}

func (l *Listener) respond(r seccompResponse) error {
	words := make([]uint64, (max(int(l.sizes.response), int(unsafe.Sizeof(r)))+7)/8)
	*(*seccompResponse)(unsafe.Pointer(&words[0])) = r
	_, err := l.request("answer", unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&words[0]))
	return err
}

// Valid says whether the caller still waits. What was read about Call.PID counts
// only when Valid holds afterwards: before that the number may be another's.
func (l *Listener) Valid(id uint64) bool {
	_, err := l.request("check", unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id))
	return err == nil
}

// AddFD places a copy of descriptor fd in the caller and returns its number
// there. The call still waits for an answer. Needs Linux 5.9.
func (l *Listener) AddFD(id uint64, fd int, closeOnExec bool) (int, error) {
	a := seccompAddFD{id: id, source: uint32(fd)}
	if closeOnExec {
		a.targetFlag = unix.O_CLOEXEC
	}
	return l.request("place a descriptor", unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&a))
}

// request is an ioctl about one call, which may be gone by now.
func (l *Listener) request(what string, number uint, arg unsafe.Pointer) (int, error) {
	l.life.RLock()
	defer l.life.RUnlock()
	if l.fd < 0 {
		return -1, os.ErrClosed
	}
	for {
		n, err := ioctl(l.fd, number, arg)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, unix.ENOENT):
			return -1, ErrGone
		case !errors.Is(err, unix.EINTR):
			return -1, fmt.Errorf("seccomp notification: %s: %w", what, err)
		}
	}
}

func ioctl(fd int, number uint, arg unsafe.Pointer) (int, error) {
	n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(number), uintptr(arg))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
