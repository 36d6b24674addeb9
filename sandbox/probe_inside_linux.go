package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// try is one attempt to get out, as its report from inside.
type try struct {
	Name string `json:"name"`
	Held bool   `json:"held"`
	Said string `json:"said"` // what was tried and what came back
}

// Names of the tries that can be seen outside.
const (
	tryWrite   = "write outside"
	tryConnect = "connect out"
	tryDNS     = "DNS out"
	trySocket  = "host socket"
)

// foreignVariable makes ProbeInside a child that makes one call of a foreign
// architecture and ends.
const foreignVariable = "GOSRT_PROBE_FOREIGN"

// ProbeInside tries to get out of the sandbox that it is called in, by what
// sandbox.Probe has laid out, and writes what came of it to w.
func ProbeInside(w io.Writer) error {
	if os.Getenv(foreignVariable) != "" {
		foreignCall()
		return nil
	}
	bait := strings.Split(os.Getenv(baitVariable), "\n")
	if len(bait) != 6 {
		return errors.New("called by hand: use gosrt doctor")
	}
	pid, err := strconv.Atoi(bait[5])
	if err != nil {
		return err
	}
	tries := []try{
		attempt(tryWrite, "EROFS", tryToWrite(bait[0])),
		attempt("read hidden", "EACCES", tryToRead(bait[1])),
		attempt(tryConnect, "", tryToDial("tcp", bait[2])),
		attempt(tryDNS, "", tryToAsk(bait[3])),
		attempt(trySocket, "", tryToDial("unix", bait[4])),
		attempt("signal outside", "ESRCH", unix.Kill(pid, 0)),
		attempt("terminal input", "EPERM", tryToType()),
		attempt("new namespace", "EPERM", tryNamespace()),
		tryForeign(),
		tryPrivileges(),
		tryInterfaces(),
	}
	return json.NewEncoder(w).Encode(tries)
}

// attempt is held when err is the error that was expected; "" stands for any.
func attempt(name, expected string, err error) try {
	var errno unix.Errno
	if err == nil {
		return try{name, false, "it succeeded"}
	}
	said := err.Error()
	if errors.As(err, &errno) {
		said = unix.ErrnoName(errno)
	}
	held := expected == "" || said == expected || expected == "EROFS" && said == "EACCES"
	return try{name, held, said}
}

// tryToWrite first shows that writing works at all.
func tryToWrite(outside string) error {
	if err := os.WriteFile("control", nil, 0o600); err != nil {
		return fmt.Errorf("the working directory is not writable either: %v", err)
	}
	return os.WriteFile(filepath.Join(outside, "made"), nil, 0o600)
}

func tryToRead(path string) error {
	_, err := os.ReadFile(path)
	return err
}

const dialTime = 300 * time.Millisecond

func tryToDial(network, address string) error {
	c, err := net.DialTimeout(network, address, dialTime)
	if err == nil {
		c.Close()
	}
	return err
}

// tryToAsk sends a datagram; only the bait knows whether it arrived.
func tryToAsk(address string) error {
	c, err := net.DialTimeout("udp", address, dialTime)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("gosrt")); err != nil {
		return err
	}
	_ = c.SetReadDeadline(time.Now().Add(dialTime / 10))
	if _, err = c.Read(make([]byte, 1)); err == nil {
		return nil
	}
	return fmt.Errorf("no answer")
}

// tryToType types into a terminal of its own, where it would hurt nobody.
func tryToType() error {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		terminal = os.Stdin
	}
	letter := byte('x')
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, terminal.Fd(), unix.TIOCSTI, uintptr(unsafe.Pointer(&letter)))
	if errno != 0 {
		return errno
	}
	return nil
}

// tryNamespace does it in a process of its own: success would change the caller.
func tryNamespace() error {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{foreignVariable + "=none"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	return cmd.Run()
}

// x32 is the bit of the foreign numbers on amd64 (__X32_SYSCALL_BIT,
// arch/x86/include/uapi/asm/unistd.h).
const x32 = 0x40000000

func foreignCall() { _, _, _ = unix.RawSyscall(x32+unix.SYS_GETPID, 0, 0, 0) }

func tryForeign() try {
	const name = "foreign architecture"
	if runtime.GOARCH != "amd64" {
		return try{name, true, "no second architecture to try on " + runtime.GOARCH}
	}
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = []string{foreignVariable + "=call"}
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == unix.SIGSYS {
			return try{name, true, "killed by SIGSYS"}
		}
	}
	return try{name, false, fmt.Sprintf("the call was made (%v)", err)}
}

// tryPrivileges reads what the kernel says of this process (proc_pid_status(5)).
func tryPrivileges() try {
	const name = "privileges"
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return try{name, false, err.Error()}
	}
	for _, line := range []string{"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(string(status), line) {
			return try{name, false, "not " + strings.ReplaceAll(line, "\t", " ")}
		}
	}
	return try{name, true, "no capability, no new privileges, a system call filter"}
}

func tryInterfaces() try {
	const name = "interfaces"
	list, err := net.Interfaces()
	if err != nil {
		return try{name, true, err.Error()}
	}
	for _, i := range list {
		if i.Flags&net.FlagLoopback == 0 {
			return try{name, false, "there is " + i.Name}
		}
	}
	return try{name, true, "none but loopback"}
}
