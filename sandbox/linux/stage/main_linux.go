package stage

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// exitStage is the stage's own status; nobody reads it, because the status that
// counts goes through the control socket.
const exitStage = 125

// init is explained in the package documentation.
func init() {
	if len(os.Args) == 2 && os.Args[1] == Word {
		os.Exit(stageMain())
	}
}

func stageMain() int {
	if err := inheritsControl(); err != nil {
		fmt.Fprintln(os.Stderr, "gosrt: error: the stage is started by gosrt itself, not by hand")
		return exitStage
	}
	if err := runStage(); err != nil {
		Send(FDControl, Message{Kind: MsgFailed, Data: []byte(err.Error())})
		return exitStage
	}
	return 0
}

func inheritsControl() error {
	t, err := unix.GetsockoptInt(FDControl, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return err
	}
	if t != unix.SOCK_SEQPACKET || os.Getpid() != 1 {
		return errors.New("not the stage")
	}
	return nil
}

// runStage returns an error for everything that kept the command from running.
// The order is explained in the package documentation.
func runStage() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make the stage undumpable: %w", err)
	}
	data, err := readAll(FDValue)
	if err != nil {
		return fmt.Errorf("read the stage value: %w", err)
	}
	if err := settleDescriptors(); err != nil {
		return err
	}
	v, err := Decode(data)
	if err != nil {
		return err
	}
	if err := verifyMounts(v.Expect); err != nil {
		return err
	}
	if len(v.Later) > 0 {
		if err := sendMounts(); err != nil {
			return err
		}
	}
	early, err := ServeSockets()
	if err != nil {
		return err
	}
	if err := verifyMounts(v.Later); err != nil {
		return err
	}
	if err := os.Chdir(v.Dir); err != nil {
		return fmt.Errorf("enter the working directory: %w", err)
	}
	if err := restrict(v); err != nil {
		return err
	}
	return runCommand(v, early)
}

// readAll uses plain reads: os.File would open the runtime's poller, which
// settleDescriptors then could not tell from what was inherited.
func readAll(fd int) ([]byte, error) {
	var data []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || n == 0:
			return data, err
		}
		data = append(data, buf[:n]...)
	}
}

// settleDescriptors gives the command its standard error back and closes all
// but the control socket: whatever the caller of gosrt had open must reach
// neither the command nor a process it could look at (CVE-2024-21626 is this
// fault in another runtime). close_range is of Linux 5.9.
func settleDescriptors() error {
	if err := unix.Dup3(FDStderr, 2, 0); err != nil {
		return fmt.Errorf("restore standard error: %w", err)
	}
	unix.CloseOnExec(FDControl)
	unix.Close(FDArgs)
	if err := unix.CloseRange(FDControl+1, ^uint(0), 0); err != nil {
		return fmt.Errorf("close inherited descriptors: %w", err)
	}
	return nil
}

// sendMounts lets the supervisor into this mount namespace.
func sendMounts() error {
	fd, err := unix.Open("/proc/self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the mount namespace: %w", err)
	}
	defer unix.Close(fd)
	return Send(FDControl, Message{Kind: MsgMounts, FDs: []int{fd}})
}

// verifyMounts checks from inside that each mount is the root of a mount and
// the file that was compiled: a directory that was swapped for a link between
// compile and mount would have moved the mount elsewhere.
func verifyMounts(expect []Expect) error {
	for _, e := range expect {
		var st unix.Statx_t
		dest := e.Dest
		err := unix.Statx(unix.AT_FDCWD, dest, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_INO, &st)
		switch {
		case errors.Is(err, unix.EACCES):
			continue // beneath a cover: nothing of it can be reached
		case err != nil:
			return fmt.Errorf("mount %q: %w", dest, err)
		case st.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0:
			return fmt.Errorf("mount %q: the path changed while the sandbox was being built, nothing is mounted there", dest)
		case e.Ino != 0 && (st.Ino != e.Ino || unix.Mkdev(st.Dev_major, st.Dev_minor) != e.Dev):
			return fmt.Errorf("mount %q: the path changed while the sandbox was being built, it is another file now", dest)
		}
	}
	return nil
}

// restrict puts the filter on every thread of the stage and so on all it
// starts. From here on the stage itself has no more than the command.
func restrict(v Value) error { return Install(v.Filter) }

// runCommand starts the command, waits for it as pid 1 and reports its end.
// early is what the supervisor sent before there was a command.
func runCommand(v Value, early []Message) error {
	path, status := lookUp(v.Env, v.Argv[0])
	if status != nil {
		return Send(FDControl, Message{Kind: MsgExit, Data: status.encode()})
	}
	relay := newSignalRelay(v.Grace)
	pid, err := spawnConfined(v, path)
	if errors.Is(err, errNotConfined) {
		return err
	}
	if err != nil {
		st := Status{NotExecutable: true, Detail: fmt.Sprintf("%q: %v", path, err)}
		return Send(FDControl, Message{Kind: MsgExit, Data: st.encode()})
	}
	if err := Send(FDControl, Message{Kind: MsgStarted, Data: Number(pid)}); err != nil {
		return err
	}
	go relay.run(pid, early)
	return Send(FDControl, Message{Kind: MsgExit, Data: reap(pid).encode()})
}

// errNotConfined says that the command was not started because a limit that is
// put on it alone could not be.
var errNotConfined = errors.New("limit the command")

// spawnConfined starts the command from a thread that carries the notification
// filter and the Landlock domain, so that the command inherits them while the
// stage's other threads, this one among them, do not wait for the supervisor.
// The thread ends with its goroutine.
func spawnConfined(v Value, path string) (pid int, err error) {
	listener, sent, done := make(chan int, 1), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		fault := confine(v, listener)
		close(listener)
		if fault = errors.Join(fault, <-sent); fault != nil {
			pid, err = -1, fmt.Errorf("%w: %v", errNotConfined, fault)
			return
		}
		pid, err = spawn(path, v.Argv, v.Env)
	}()
	if fd, ok := <-listener; ok {
		sent <- Send(FDControl, Message{Kind: MsgNotify, FDs: []int{fd}})
		unix.Close(fd)
	}
	close(sent)
	<-done
	return pid, err
}

// confine limits this thread. Landlock comes first: with the notification filter
// on, opening the writable places would wait for the supervisor.
func confine(v Value, listener chan<- int) error {
	if err := landlock(v.Writable); err != nil {
		return err
	}
	if len(v.Notify) == 0 {
		return nil
	}
	fd, err := InstallNotify(v.Notify)
	if err == nil {
		listener <- fd
	}
	return err
}

// spawn starts the command with every signal unblocked and at its default. A
// file without a magic number is handed to /bin/sh, as execvp(3) does.
func spawn(path string, argv, env []string) (int, error) {
	var none unix.Sigset_t
	unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil)
	attr := &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}}
	pid, err := syscall.ForkExec(path, argv, attr)
	if errors.Is(err, unix.ENOEXEC) {
		pid, err = syscall.ForkExec("/bin/sh", append([]string{"sh", path}, argv[1:]...), attr)
	}
	return pid, err
}

// reap collects every child until the command itself is gone. When the stage
// then exits, the kernel ends whatever is left in the pid namespace.
func reap(command int) Status {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WUNTRACED|unix.WCONTINUED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return Status{Ran: true, Signal: unix.SIGKILL}
		case pid != command:
			continue
		case ws.Stopped():
			Send(FDControl, Message{Kind: MsgStopped})
		case ws.Continued():
			Send(FDControl, Message{Kind: MsgContinued})
		case ws.Signaled():
			return Status{Ran: true, Signal: ws.Signal(), Core: ws.CoreDump()}
		case ws.Exited():
			return Status{Ran: true, Code: ws.ExitStatus()}
		}
	}
}

// lookUp finds the command in the PATH of its own environment, as execvp(3)
// does. A status instead of a path says why there is none.
func lookUp(env []string, name string) (string, *Status) {
	if strings.Contains(name, "/") {
		return executable(name)
	}
	denied := &Status{Missing: true, Detail: fmt.Sprintf("%q: not found in PATH", name)}
	for _, dir := range strings.Split(lookupEnv(env, "PATH"), ":") {
		if dir == "" {
			dir = "."
		}
		path, status := executable(dir + "/" + name)
		if status == nil {
			return path, nil
		}
		if status.NotExecutable {
			denied = status
		}
	}
	return "", denied
}

func executable(path string) (string, *Status) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return "", &Status{Missing: true, Detail: fmt.Sprintf("%q: no such file", path)}
	case err != nil:
		return "", &Status{NotExecutable: true, Detail: fmt.Sprintf("%q: %v", path, err)}
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return "", &Status{NotExecutable: true, Detail: fmt.Sprintf("%q: is a directory", path)}
	}
	if err := unix.Access(path, unix.X_OK); err != nil {
		return "", &Status{NotExecutable: true, Detail: fmt.Sprintf("%q: %v", path, err)}
	}
	return path, nil
}

// lookupEnv returns the last value of name, as getenv(3) of a list made by
// policy.Compile would; the list holds no name twice.
func lookupEnv(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}
