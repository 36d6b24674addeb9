package linux

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/sandbox/linux/stage"
)

// The kernel tests run again as an ordinary user: no_new_privs is what lets him
// install a filter.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		return // the tests themselves are that run
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestSeccomp", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HOME=/nonexistent", "TMPDIR=/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestSeccompRefusals")) {
		t.Fatalf("%v\n%s", err, out)
	}
}

// attempts are tried in a process of their own, without the filter and with it.
var attempts = map[string]func() error{
	"unix socket":     func() error { return call(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0) },
	"unix, high bits": func() error { return call(unix.SYS_SOCKET, high|unix.AF_UNIX, unix.SOCK_STREAM, 0) },
	"inet socket":     func() error { return call(unix.SYS_SOCKET, high|unix.AF_INET, unix.SOCK_STREAM, 0) },
	"route socket":    func() error { return call(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE) },
	"netlink, other":  func() error { return call(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC) },
	"stream pair":     func() error { return pair(unix.SOCK_STREAM) },
	"seqpacket pair":  func() error { return pair(unix.SOCK_SEQPACKET) },
	"datagram pair":   func() error { return pair(unix.SOCK_DGRAM) },
	"raw pair":        func() error { return pair(unix.SOCK_RAW) },
	"new user ns":     func() error { return call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) },
	"clone into ns":   func() error { return call(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS) },
	"clone3":          func() error { return call(unix.SYS_CLONE3, 0, 1) },
	"io_uring":        func() error { return call(unix.SYS_IO_URING_SETUP, 0, 0) },
	"keyring":         func() error { return call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, negative(-3), 1) },
	"listener": func() error {
		return call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, 0)
	},
	"further filter":    func() error { return stage.Install([]Instruction{{Op: opReturn, K: retAllow}}) },
	"executable memory": func() error { return call(unix.SYS_PERSONALITY, 0x400000) },
	"no randomization":  func() error { return call(unix.SYS_PERSONALITY, 0x40000) },
	"TIOCSTI":           func() error { return onTerminal(unix.TIOCSTI) },
	"TIOCSTI, high":     func() error { return onTerminal(high | unix.TIOCSTI) },
	"window size":       func() error { return onTerminal(unix.TIOCGWINSZ) },
	"child":             func() error { return exec.Command("/bin/true").Run() },
}

func call(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func negative(n int) uintptr { return uintptr(n) }

func pair(kind int) error {
	_, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	return err
}

// onTerminal makes a new terminal the controlling one, so that the kernel itself
// has the least reason to refuse.
func onTerminal(request uintptr) error {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return err
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	unix.Setsid()
	if err := unix.IoctlSetInt(int(slave.Fd()), unix.TIOCSCTTY, 0); err != nil {
		return err
	}
	var buf [64]byte
	return call(unix.SYS_IOCTL, slave.Fd(), request, uintptr(unsafe.Pointer(&buf)))
}

const (
	childEnv   = "GOSRT_TEST_ATTEMPT"
	childPlain = "GOSRT_TEST_PLAIN"
)

// TestChild is the process in which an attempt runs; in the suite it does nothing.
func TestChild(t *testing.T) {
	name := os.Getenv(childEnv)
	if name == "" {
		return
	}
	if os.Getenv(childPlain) == "" {
		arch, err := ArchOf(runtime.GOARCH)
		if err != nil {
			t.Fatal(err)
		}
		if err := stage.Install(staticFilter(t, FilterConfig{}, arch)); err != nil {
			t.Fatal(err)
		}
	}
	if path, ok := strings.CutPrefix(name, "exec "); ok {
		t.Fatal(unix.Exec(path, []string{path}, nil))
	}
	if n, ok := strings.CutPrefix(name, "number "); ok {
		nr, err := strconv.ParseUint(n, 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		call(uintptr(nr))
		os.Exit(0)
	}
	err := attempts[name]()
	fmt.Printf("result=%s\n", result(err))
	os.Exit(0)
}

func result(err error) string {
	var errno unix.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// attempt returns what the named attempt came to: "ok", an errno, or a signal.
func attempt(t *testing.T, name string, filtered bool) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childEnv+"="+name, "GORACE=atexit_sleep_ms=0")
	if !filtered {
		cmd.Env = append(cmd.Env, childPlain+"=1")
	}
	out, err := cmd.CombinedOutput()
	if _, after, ok := strings.Cut(string(out), "result="); ok {
		got, _, _ := strings.Cut(after, "\n")
		return got
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled():
		return unix.SignalName(exit.Sys().(syscall.WaitStatus).Signal())
	}
	t.Fatalf("%s: %v\n%s", name, err, out)
	return ""
}

func TestSeccompRefusals(t *testing.T) {
	want := map[string]string{
		"unix socket": "EAFNOSUPPORT", "unix, high bits": "EAFNOSUPPORT", "netlink, other": "EPROTONOSUPPORT",
		"datagram pair": "EPERM", "raw pair": "EPERM", "new user ns": "EPERM", "clone into ns": "EPERM",
		"clone3": "ENOSYS", "io_uring": "ENOSYS", "keyring": "EPERM", "listener": "EPERM",
		"executable memory": "EPERM", "TIOCSTI": "EPERM", "TIOCSTI, high": "EPERM",
	}
	for name := range attempts {
		refusal, refused := want[name]
		plain, filtered := attempt(t, name, false), attempt(t, name, true)
		switch {
		case !refused && (plain != "ok" || filtered != "ok"):
			t.Errorf("%s: %s without the filter, %s with it, want ok twice", name, plain, filtered)
		case refused && filtered != refusal:
			t.Errorf("%s: got %s, want %s", name, filtered, refusal)
		case refused && plain == refusal:
			t.Errorf("%s: %s without the filter too, so the filter is not what refuses", name, plain)
		}
	}
}

func TestSeccompKillsX32(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		return // no such entry
	}
	for _, number := range []string{"0x40000027", "0x40000202", "514", "512", "547"} {
		if got := attempt(t, "number "+number, false); got != "ok" {
			t.Errorf("number %s without the filter: %s", number, got)
		}
		if got := attempt(t, "number "+number, true); got != "SIGSYS" {
			t.Errorf("number %s: got %s, want SIGSYS", number, got)
		}
	}
	if got := attempt(t, "number 0xffffffff", true); got != "ok" {
		t.Errorf("number -1, which tracers use: got %s", got)
	}
}

// int80 makes the 32-bit entry's socketcall and getpid from a 64-bit program.
const int80 = `
int main(void) {
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
	return r > 0 ? 0 : 1;
}`

func TestSeccompKillsInt80(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		return // no such entry
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "int80.c"), filepath.Join(dir, "int80")
	if err := os.WriteFile(source, []byte(int80), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O0", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	if got := attempt(t, "exec "+program, false); got != "ok" {
		t.Logf("this kernel has no 32-bit entry: %s without the filter", got)
	}
	if got := attempt(t, "exec "+program, true); got != "SIGSYS" {
		t.Errorf("got %s, want SIGSYS", got)
	}
}

func BenchmarkPlainCall(b *testing.B) {
	for _, name := range []string{"without filter", "with filter"} {
		b.Run(name, func(b *testing.B) {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				runtime.LockOSThread() // never unlocked: the filter ends with the thread
				if name == "with filter" {
					arch, err := ArchOf(runtime.GOARCH)
					if err != nil {
						b.Error(err)
					}
					static, staticErr := Filter(FilterConfig{}, arch)
					names, namesErr := NotifyFilter(everything, arch)
					if err := errors.Join(staticErr, namesErr); err != nil {
						b.Error(err)
					}
					for _, f := range [][]Instruction{static, names} {
						if err := filterThread(f); err != nil {
							b.Error(err)
						}
					}
				}
				b.ResetTimer()
				for range b.N {
					fd, _ := unix.Openat(unix.AT_FDCWD, "/", unix.O_RDONLY, 0)
					unix.Close(fd)
				}
				b.StopTimer()
			}()
			<-ended
		})
	}
}

// filterThread puts a filter on this thread alone (prctl(2)).
func filterThread(f []Instruction) error {
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: (*unix.SockFilter)(unsafe.Pointer(&f[0]))}
	return errors.Join(
		unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
		unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0),
	)
}

// The filter's constants are the kernel's.
func TestConstants(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want uint64
	}{
		{"AF_UNIX", afUnix, unix.AF_UNIX}, {"AF_INET", afInet, unix.AF_INET}, {"AF_INET6", afInet6, unix.AF_INET6},
		{"AF_NETLINK", afNetlink, unix.AF_NETLINK}, {"SOCK_STREAM", sockStream, unix.SOCK_STREAM},
		{"SOCK_DGRAM", sockDgram, unix.SOCK_DGRAM}, {"SOCK_SEQPACKET", sockSeqpacket, unix.SOCK_SEQPACKET},
		{"IPPROTO_MPTCP", protoMPTCP, unix.IPPROTO_MPTCP}, {"IPPROTO_ICMPV6", protoICMPv6, unix.IPPROTO_ICMPV6},
		{"CLONE_NEW*", cloneNewSpaces, unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
			unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET},
		{"CLONE_NEWTIME", cloneNewTime, unix.CLONE_NEWTIME},
		{"TIOCSTI", tiocsti, unix.TIOCSTI}, {"TIOCLINUX", tioclinux, unix.TIOCLINUX}, {"TIOCSETD", tiocsetd, unix.TIOCSETD},
		{"SECCOMP_SET_MODE_FILTER", seccompSetModeFilter, unix.SECCOMP_SET_MODE_FILTER},
		{"SECCOMP_FILTER_FLAG_NEW_LISTENER", seccompNewListener, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER},
		{"SECCOMP_RET_KILL_PROCESS", retKill, unix.SECCOMP_RET_KILL_PROCESS}, {"SECCOMP_RET_ERRNO", retErrno, unix.SECCOMP_RET_ERRNO},
		{"SECCOMP_RET_USER_NOTIF", retNotify, unix.SECCOMP_RET_USER_NOTIF}, {"SECCOMP_RET_ALLOW", retAllow, unix.SECCOMP_RET_ALLOW},
		{"EPERM", uint64(ePERM), uint64(unix.EPERM)}, {"ENOSYS", uint64(eNOSYS), uint64(unix.ENOSYS)},
		{"EPROTONOSUPPORT", uint64(ePROTONOSUPPORT), uint64(unix.EPROTONOSUPPORT)},
		{"EAFNOSUPPORT", uint64(eAFNOSUPPORT), uint64(unix.EAFNOSUPPORT)},
		{"AUDIT_ARCH_X86_64", uint64(AMD64.Audit), unix.AUDIT_ARCH_X86_64},
		{"AUDIT_ARCH_AARCH64", uint64(ARM64.Audit), unix.AUDIT_ARCH_AARCH64},
		{"O_ flags that write", openWriting, unix.O_ACCMODE | unix.O_TRUNC | unix.O_APPEND},
		{"O_ flags that create", openCreating | unix.O_DIRECTORY, unix.O_CREAT | unix.O_TMPFILE},
		{"BPF_LD", opLoad, unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, {"BPF_AND", opAnd, unix.BPF_ALU | unix.BPF_AND | unix.BPF_K},
		{"BPF_JSET", opBits, unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K}, {"BPF_JGE", opAtLeast, unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K},
		{"BPF_JEQ", opEqual, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K}, {"BPF_RET", opReturn, unix.BPF_RET | unix.BPF_K},
		{"struct sock_filter", uint64(unsafe.Sizeof(Instruction{})), uint64(unsafe.Sizeof(unix.SockFilter{}))},
		{"socket", numberHere("socket"), unix.SYS_SOCKET}, {"open_tree_attr", numberHere("open_tree_attr"), unix.SYS_OPEN_TREE_ATTR},
		{"ioctl", numberHere("ioctl"), unix.SYS_IOCTL}, {"clone3", numberHere("clone3"), unix.SYS_CLONE3},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %#x, the kernel's is %#x", tt.name, tt.got, tt.want)
		}
	}
}

func numberHere(name string) uint64 {
	a, err := ArchOf(runtime.GOARCH)
	if err != nil {
		return 0
	}
	n, _ := SyscallNumber(a, name)
	return uint64(n)
}
