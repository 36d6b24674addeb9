package linux

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/sandbox/linux/stage"
)

// notified runs each function on a thread of its own under one notification
// filter, and gives every call to answer. It returns when all have ended.
func notified(t *testing.T, c NotifyConfig, answer func(*Listener, Call), run ...func()) {
	t.Helper()
	arch, err := ArchOf(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	filter, err := NotifyFilter(c, arch)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range run {
		defer serve(t, filter, answer, f)()
	}
}

// serve starts f and the answers to it, and returns the function that waits for
// both.
func serve(t *testing.T, filter []Instruction, answer func(*Listener, Call), f func()) func() {
	t.Helper()
	fds := make(chan int, 1)
	installed := make(chan error, 1)
	proceed, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // never unlocked: the filter ends with the thread
		fd, err := stage.InstallNotify(filter)
		fds <- fd
		installed <- err
		if <-proceed; err == nil {
			f()
		}
	}()
	fd := <-fds
	if err := <-installed; err != nil {
		t.Fatal(err)
	}
	l, err := NewListener(fd)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		for {
			call, err := l.Recv()
			if err != nil {
				done <- err
				return
			}
			answer(l, call)
		}
	}()
	close(proceed)
	return func() {
		<-ended
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, os.ErrClosed) && !errors.Is(err, io.EOF) {
			t.Errorf("receive ended with %v", err)
		}
	}
}

func pass(l *Listener, c Call) { l.Continue(c.ID) }

func TestSeccompNotifyContinueAndFail(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	var seen []string
	answer := func(l *Listener, c Call) {
		path, err := l.ReadPath(c, c.Args[1])
		if err != nil {
			t.Errorf("path: %v", err)
		}
		seen = append(seen, path)
		if path == bad {
			l.Fail(c.ID, unix.EACCES)
			return
		}
		l.Continue(c.ID)
	}
	var goodErr, badErr, readErr error
	notified(t, NotifyConfig{Names: true}, answer, func() {
		goodErr = unix.Mkdirat(unix.AT_FDCWD, good, 0o700)
		badErr = unix.Mkdirat(unix.AT_FDCWD, bad, 0o700)
		fd, err := unix.Openat(unix.AT_FDCWD, dir, unix.O_RDONLY, 0)
		unix.Close(fd)
		readErr = err
	})
	if goodErr != nil || badErr != unix.EACCES || readErr != nil {
		t.Errorf("continued: %v, failed: %v, read: %v", goodErr, badErr, readErr)
	}
	if _, err := os.Stat(good); err != nil {
		t.Errorf("the continued call did nothing: %v", err)
	}
	if _, err := os.Stat(bad); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the failed call did something: %v", err)
	}
	if len(seen) != 2 {
		t.Errorf("notified %q; opening for reading must not be", seen)
	}
}

func TestSeccompNotifyAddFD(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("placed"), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	answer := func(l *Listener, c Call) {
		fd, err := l.AddFD(c.ID, int(source.Fd()), true)
		if err != nil {
			t.Error(err)
			l.Fail(c.ID, unix.EIO)
			return
		}
		l.Return(c.ID, int64(fd))
	}
	var got string
	notified(t, NotifyConfig{Names: true}, answer, func() {
		fd, err := unix.Openat(unix.AT_FDCWD, "/nonexistent", unix.O_RDWR|unix.O_CREAT, 0o600)
		if err != nil {
			t.Error(err)
			return
		}
		buf := make([]byte, 16)
		n, _ := unix.Pread(fd, buf, 0)
		got = string(buf[:n])
		flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if flags&unix.FD_CLOEXEC == 0 {
			t.Error("the placed descriptor is not close-on-exec")
		}
		unix.Close(fd)
	})
	if got != "placed" {
		t.Errorf("got %q", got)
	}
}

// Ten thousand calls from several threads while signals rain on all of them (Go
// preempts with SIGURG): none is lost, none is performed twice.
func TestSeccompNotifyStorm(t *testing.T) {
	const threads, each = 4, 2500
	var performed, failed atomic.Int64
	work := func() {
		for range each {
			// A call with an effect that can be counted: the answer is its value.
			n, _, errno := unix.Syscall(unix.SYS_MKDIRAT, 0, 0, 0)
			if errno != 0 || n != 7 {
				failed.Add(1)
				continue
			}
			performed.Add(1)
		}
	}
	stop := make(chan struct{})
	var rain sync.WaitGroup
	rain.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Microsecond):
				unix.Kill(os.Getpid(), unix.SIGURG)
				signalThreads()
			}
		}
	})
	answer := func(l *Listener, c Call) {
		if err := l.Return(c.ID, 7); err != nil && !errors.Is(err, ErrGone) {
			t.Error(err)
		}
	}
	notified(t, NotifyConfig{Names: true}, answer, work, work, work, work)
	close(stop)
	rain.Wait()
	if performed.Load() != threads*each || failed.Load() != 0 {
		t.Errorf("%d calls answered, %d failed, want %d and 0", performed.Load(), failed.Load(), threads*each)
	}
}

func signalThreads() {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, e := range entries {
		var tid int
		for _, d := range e.Name() {
			tid = tid*10 + int(d-'0')
		}
		unix.Tgkill(os.Getpid(), tid, unix.SIGURG)
	}
}

// With nobody to answer the call fails; it is neither performed nor does it hang.
func TestSeccompNotifyClosed(t *testing.T) {
	dir := t.TempDir()
	arch, archErr := ArchOf(runtime.GOARCH)
	filter, filterErr := NotifyFilter(NotifyConfig{Names: true}, arch)
	if err := errors.Join(archErr, filterErr); err != nil {
		t.Fatal(err)
	}
	fds := make(chan int)
	ended, handed, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		fd, err := stage.InstallNotify(filter)
		if err != nil {
			t.Error(err)
		}
		fds <- fd
		<-handed
		unix.Mkdirat(unix.AT_FDCWD, dir+"/a", 0o700)
		<-closed
		err = unix.Mkdirat(unix.AT_FDCWD, dir+"/b", 0o700)
		if err != unix.ENOSYS {
			t.Errorf("after Close: got %v, want ENOSYS", err)
		}
	}()
	l, err := NewListener(<-fds)
	if err != nil {
		t.Fatal(err)
	}
	close(handed)
	c, err := l.Recv()
	if err != nil {
		t.Fatal(err)
	}
	l.Fail(c.ID, unix.EACCES)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	close(closed)
	<-ended
	if _, err := l.Recv(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Recv after Close: %v", err)
	}
	if err := l.Continue(c.ID); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Continue after Close: %v", err)
	}
}

// What is started from the thread is under the filter, and the last of it ends
// the listener.
func TestSeccompNotifyChildren(t *testing.T) {
	dir := t.TempDir()
	var calls atomic.Int64
	notified(t, NotifyConfig{Names: true}, func(l *Listener, c Call) {
		calls.Add(1)
		l.Fail(c.ID, unix.EACCES)
	}, func() {
		pid, err := syscall.ForkExec("/bin/mkdir", []string{"mkdir", dir + "/x"}, &syscall.ProcAttr{Env: []string{}})
		if err != nil {
			t.Error(err)
			return
		}
		var ws unix.WaitStatus
		unix.Wait4(pid, &ws, 0, nil)
		if ws.ExitStatus() != 1 {
			t.Errorf("mkdir ended with %d", ws.ExitStatus())
		}
	})
	if calls.Load() == 0 {
		t.Error("the child's mkdir was not notified")
	}
	if _, err := os.Stat(dir + "/x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the child's directory: %v", err)
	}
}

func TestSeccompNotifyAnswersOnce(t *testing.T) {
	notified(t, NotifyConfig{Names: true}, func(l *Listener, c Call) {
		if !l.Valid(c.ID) {
			t.Error("a waiting call is not valid")
		}
		if err := l.Fail(c.ID, 0); err == nil {
			t.Error("a failure without an errno was taken: it would be a success")
		}
		if err := l.Continue(c.ID + 1000); !errors.Is(err, ErrGone) {
			t.Errorf("a call that nobody made: got %v, want ErrGone", err)
		}
		if _, err := l.AddFD(c.ID+1000, 0, true); !errors.Is(err, ErrGone) {
			t.Errorf("a descriptor for nobody: got %v, want ErrGone", err)
		}
		if err := l.Fail(c.ID, unix.EACCES); err != nil {
			t.Error(err) // last: the caller goes on, and the test ends
		}
	}, func() { unix.Mkdirat(unix.AT_FDCWD, "/nonexistent/x", 0) })
}

func TestSeccompNotifySecondListener(t *testing.T) {
	notified(t, NotifyConfig{}, pass, func() {
		if err := call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, 0); err != unix.EPERM {
			t.Errorf("got %v, want EPERM", err)
		}
	})
}

// Paths are read as the kernel reads them, wherever they lie.
func TestSeccompReadPath(t *testing.T) {
	page := os.Getpagesize()
	memory, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	if err := unix.Mprotect(memory[2*page:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	put := func(end int, s string) uintptr {
		at := end - len(s)
		copy(memory[at:], s)
		return uintptr(unsafe.Pointer(&memory[at]))
	}
	for _, tt := range []struct {
		name string
		addr func() uintptr
		want string
		err  error
	}{
		{"last bytes before a hole", func() uintptr { return put(2*page, "/nonexistent/a\x00") }, "/nonexistent/a", nil},
		{"across two pages", func() uintptr { return put(page+5, "/nonexistent/b\x00") }, "/nonexistent/b", nil},
		{"not UTF-8", func() uintptr { return put(page, "/\xff\n\x01\x00") }, "/\xff\n\x01", nil},
		{"empty", func() uintptr { return put(page, "\x00") }, "", nil},
		{"runs into the hole", func() uintptr { return put(2*page, "/nonexistent/c") }, "", unix.EFAULT},
		{"in the hole", func() uintptr { return uintptr(unsafe.Pointer(&memory[0])) + uintptr(2*page) }, "", unix.EFAULT},
		{"null", func() uintptr { return 0 }, "", unix.EFAULT},
		{"too long", func() uintptr { return put(page+4200, strings.Repeat("x", 4200)) }, "", unix.ENAMETOOLONG},
	} {
		if page != 4096 && tt.err == unix.ENAMETOOLONG {
			continue // the layout of this case is for small pages
		}
		if tt.err == unix.ENAMETOOLONG {
			if err := unix.Mprotect(memory, unix.PROT_READ|unix.PROT_WRITE); err != nil {
				t.Fatal(err)
			}
		}
		addr := tt.addr()
		notified(t, NotifyConfig{Names: true}, func(l *Listener, c Call) {
			got, err := l.ReadPath(c, c.Args[1])
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%s: got %q, %v; want %q, %v", tt.name, got, err, tt.want, tt.err)
			}
			fallback, fallbackErr := readMemoryFile(c.PID, c.Args[1], make([]byte, len(tt.want)+1))
			if tt.err == nil && (fallbackErr != nil || string(fallback) != tt.want+"\x00") {
				t.Errorf("%s through /proc: got %q, %v", tt.name, fallback, fallbackErr)
			}
			l.Fail(c.ID, unix.EACCES)
		}, func() { unix.Syscall(unix.SYS_MKDIRAT, 0, addr, 0) })
	}
}

func TestSeccompReadSockaddr(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	server, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	answer := func(l *Listener, c Call) {
		s, raw, err := l.ReadSockaddr(c, c.Args[1], c.Args[2])
		if err != nil || s.Path != path || len(raw) != int(c.Args[2]) {
			t.Errorf("got %+v, %d bytes, %v", s, len(raw), err)
		}
		if _, _, err := l.ReadSockaddr(c, c.Args[1], 129); err != unix.EINVAL {
			t.Errorf("129 bytes: %v", err)
		}
		if _, _, err := l.ReadSockaddr(c, c.Args[1], 0xffffffff); err != unix.EINVAL {
			t.Errorf("-1 bytes: %v", err)
		}
		l.Continue(c.ID)
	}
	notified(t, NotifyConfig{Connects: true}, answer, func() {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer unix.Close(fd)
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
			t.Errorf("continued connect: %v", err)
		}
	})
}

// Why datagram pairs are refused while nobody decides connects: one reaches any
// datagram socket by name, and a stream pair does not.
func TestSeccompDatagramPairReachesOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	server, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	datagram, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Sendto(datagram[0], []byte("x"), 0, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Errorf("a datagram pair: %v", err)
	}
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Connect(fds[0], &unix.SockaddrUnix{Name: path}); err == nil {
			t.Errorf("type %d of a pair was connected elsewhere", kind)
		}
	}
}

func BenchmarkNotifiedCall(b *testing.B) {
	arch, err := ArchOf(runtime.GOARCH)
	if err != nil {
		b.Fatal(err)
	}
	filter, err := NotifyFilter(NotifyConfig{Names: true}, arch)
	if err != nil {
		b.Fatal(err)
	}
	fds, ended, begin := make(chan int), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		fd, err := stage.InstallNotify(filter)
		if err != nil {
			b.Error(err)
		}
		fds <- fd
		<-begin
		for range b.N {
			unix.Syscall(unix.SYS_MKDIRAT, 0, 0, 0)
		}
	}()
	l, err := NewListener(<-fds)
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		for c, err := l.Recv(); err == nil; c, err = l.Recv() {
			l.Continue(c.ID)
		}
	}()
	b.ResetTimer()
	close(begin)
	<-ended
	b.StopTimer()
	l.Close()
}
