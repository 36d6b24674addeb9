//go:build darwin

// Probe runs the steps of an assumption with real system calls and prints what
// the last one answered: "ok", an errno's name or a signal's. It is built static
// and small, so that a profile needs little to start it.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() {
	answer := ""
	for step := range strings.SplitSeq(os.Args[1], ";") {
		if words := strings.Fields(step); len(words) > 0 {
			answer = name(do(words))
		}
	}
	fmt.Println(answer)
}

// name is how the assumptions spell an error.
func name(err error) string {
	var errno syscall.Errno
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &exit):
		if ws := exit.Sys().(syscall.WaitStatus); ws.Signaled() {
			return unix.SignalName(ws.Signal())
		}
		return exit.String()
	case errors.As(err, &errno) && errno == syscall.EACCES:
		return "EPERM" // bind and exec answer EACCES where Seatbelt refuses
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

func do(w []string) error {
	arg := func(i int) string {
		if i < len(w) {
			return w[i]
		}
		return ""
	}
	a, b := arg(1), arg(2)
	switch w[0] {
	case "read":
		return read(a)
	case "write":
		return write(a)
	case "stat":
		var st unix.Stat_t
		return unix.Stat(a, &st)
	case "lstat":
		var st unix.Stat_t
		return unix.Lstat(a, &st)
	case "mkdir":
		return unix.Mkdir(a, 0o777)
	case "symlink":
		return unix.Symlink(a, b)
	case "remove":
		return os.Remove(a)
	case "rename":
		return unix.Rename(a, b)
	case "swap":
		return unix.RenamexNp(a, b, unix.RENAME_SWAP)
	case "link":
		return unix.Link(a, b)
	case "clone":
		return unix.Clonefile(a, b, 0)
	case "copy":
		return copyFile(a, b)
	case "chmod":
		return unix.Chmod(a, 0o700)
	case "setxattr":
		return unix.Setxattr(a, "user.probe", []byte("x"), 0)
	case "acl":
		return exec.Command("/bin/chmod", "+a", "everyone deny delete", a).Run()
	case "exec":
		return exec.Command(a).Run()
	case "dlopen":
		cmd := exec.Command("/bin/echo")
		cmd.Env = []string{"DYLD_INSERT_LIBRARIES=" + a}
		return cmd.Run()
	case "mount":
		return unix.Mount("devfs", a, 0, nil)
	}
	return network(w[0], a, b)
}

func network(verb, a, b string) error {
	switch verb {
	case "tcp", "udp":
		c, err := net.Dial(verb, net.JoinHostPort(a, b))
		if err == nil {
			_, err = c.Write([]byte("x"))
			c.Close()
		}
		return err
	case "listen":
		l, err := net.Listen("tcp", net.JoinHostPort(a, b))
		if err == nil {
			l.Close()
		}
		return err
	case "unix":
		c, err := net.Dial("unix", a)
		if err == nil {
			c.Close()
		}
		return err
	case "listenunix":
		l, err := net.Listen("unix", a)
		if err == nil {
			l.(*net.UnixListener).SetUnlinkOnClose(false)
		}
		return err
	}
	return errors.New("unknown verb: " + verb)
}

func read(p string) error {
	if st, err := os.Stat(p); err == nil && st.IsDir() {
		_, err := os.ReadDir(p)
		return err
	}
	_, err := os.ReadFile(p)
	return err
}

func write(p string) error {
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString("written")
	return errors.Join(err, f.Close())
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}
