package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The probe is this test binary inside the sandbox: it does what a list of
// operations says, undoes what succeeded, and answers with the errors.

const probeWord = "gosrt-fileops-probe"

// init makes the test binary the probe. Flags are not parsed yet, and the
// testing package must not.
func init() {
	if len(os.Args) == 2 && os.Args[1] == probeWord {
		if err := probeMain(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "probe:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// fileOp is one operation on one place, or two.
type fileOp struct {
	Kind string
	// Path and To are absolute and may hold any byte.
	Path, To []byte
	// Via is how Path is spelled: "" as it is, or a key of spellings.
	Via string
	// Child does it in a process that the probe starts.
	Child bool
}

func (o fileOp) String() string {
	s := fmt.Sprintf("%s %q", o.Kind, o.Path)
	if o.To != nil {
		s += fmt.Sprintf(" to %q", o.To)
	}
	return s + fmt.Sprintf(" via %q child %v", o.Via, o.Child)
}

// fileAnswer is how an operation ended. Undo says what could not be put back.
type fileAnswer struct {
	Errno unix.Errno
	Undo  string
}

func probeMain(in io.Reader, out io.Writer) error {
	var child *probeChild
	dec, enc := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var op fileOp
		if err := dec.Decode(&op); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		answer := fileAnswer{}
		var err error
		if op.Child {
			if child == nil {
				if child, err = newProbeChild(); err != nil {
					return err
				}
			}
			answer, err = child.do(op)
		} else {
			answer, err = op.do()
		}
		if err != nil {
			return fmt.Errorf("%v: %w", op, err)
		}
		if err := enc.Encode(answer); err != nil {
			return err
		}
	}
}

type probeChild struct {
	enc *json.Encoder
	dec *json.Decoder
}

func newProbeChild() (*probeChild, error) {
	cmd := exec.Command("/proc/self/exe", probeWord)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return nil, err
	}
	return &probeChild{json.NewEncoder(in), json.NewDecoder(out)}, nil
}

func (c *probeChild) do(op fileOp) (answer fileAnswer, err error) {
	op.Child = false
	if err := c.enc.Encode(op); err != nil {
		return answer, err
	}
	return answer, c.dec.Decode(&answer)
}

// spellings lead to an absolute path by another name. One may hold a descriptor.
var spellings = map[string]func(p string) (string, int, error){
	"": func(p string) (string, int, error) { return p, -1, nil },
	"root": func(p string) (string, int, error) {
		return "/proc/self/root" + p, -1, nil
	},
	"cwd": func(p string) (string, int, error) {
		return "/proc/self/cwd" + strings.Repeat("/..", 32) + p, -1, nil
	},
	"relative": func(p string) (string, int, error) {
		return strings.Repeat("../", 32) + strings.TrimPrefix(p, "/"), -1, nil
	},
	"slashes": func(p string) (string, int, error) {
		return strings.ReplaceAll(p, "/", "//./"), -1, nil
	},
	"dirfd": func(p string) (string, int, error) {
		fd, err := unix.Open(path.Dir(p), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return "/proc/self/fd/" + strconv.Itoa(fd) + "/" + path.Base(p), fd, err
	},
}

// do answers with the errno of the operation itself. The error is the probe's own.
func (o fileOp) do() (fileAnswer, error) {
	kind, known := fileOps[o.Kind]
	spell, spelled := spellings[o.Via]
	if !known || !spelled {
		return fileAnswer{}, errors.New("unknown operation")
	}
	p, fd, err := spell(string(o.Path))
	if fd >= 0 {
		defer unix.Close(fd)
	}
	var undo func() error
	if err == nil {
		undo, err = kind(p, string(o.To))
	}
	var answer fileAnswer
	if err != nil && !errors.As(err, &answer.Errno) {
		return answer, err
	}
	if err == nil && undo != nil {
		if err := undo(); err != nil {
			answer.Undo = err.Error()
		}
	}
	return answer, nil
}

func opens(flags int) func(p, _ string) (func() error, error) {
	return func(p, _ string) (func() error, error) {
		fd, err := unix.Open(p, flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		return nil, unix.Close(fd)
	}
}

func unlinks(p string) func() error { return func() error { return unix.Unlink(p) } }

// fileOps returns, for what succeeded, how to undo it.
var fileOps = map[string]func(p, to string) (undo func() error, err error){
	"read":   readAny,
	"write":  opens(unix.O_WRONLY),
	"rdwr":   opens(unix.O_RDWR),
	"append": opens(unix.O_WRONLY | unix.O_APPEND),
	"trunc":  opens(unix.O_WRONLY | unix.O_TRUNC),
	"truncate": func(p, _ string) (func() error, error) {
		return nil, unix.Truncate(p, 3)
	},
	"chmod": func(p, _ string) (func() error, error) {
		var st unix.Stat_t
		if err := unix.Stat(p, &st); err != nil {
			return nil, err
		}
		return nil, unix.Chmod(p, st.Mode&0o7777)
	},
	"utimes": func(p, _ string) (func() error, error) {
		return nil, unix.UtimesNanoAt(unix.AT_FDCWD, p, []unix.Timespec{{Sec: 1}, {Sec: 1}}, 0)
	},
	"setxattr": func(p, _ string) (func() error, error) {
		return func() error { return unix.Removexattr(p, "user.gosrt") }, unix.Setxattr(p, "user.gosrt", []byte("x"), 0)
	},
	"create": func(p, _ string) (func() error, error) {
		fd, err := unix.Open(p, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return nil, err
		}
		unix.Close(fd)
		return unlinks(p), nil
	},
	"mkdir": func(p, _ string) (func() error, error) {
		return func() error { return unix.Rmdir(p) }, unix.Mkdir(p, 0o700)
	},
	"symlink": func(p, _ string) (func() error, error) { return unlinks(p), unix.Symlink("/", p) },
	"mknod":   func(p, _ string) (func() error, error) { return unlinks(p), unix.Mknod(p, unix.S_IFIFO|0o600, 0) },
	"tmpfile": tmpfile,
	"link":    func(p, to string) (func() error, error) { return unlinks(to), unix.Link(p, to) },
	"rename": func(p, to string) (func() error, error) {
		return func() error { return unix.Rename(to, p) }, unix.Rename(p, to)
	},
	"exchange": func(p, to string) (func() error, error) {
		swap := func() error {
			return unix.Renameat2(unix.AT_FDCWD, p, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE)
		}
		return swap, swap()
	},
	"remove": func(p, _ string) (func() error, error) { // not undone: it comes last
		err := unix.Unlink(p)
		if errors.Is(err, unix.EISDIR) {
			err = unix.Rmdir(p)
		}
		return nil, err
	},
}

// readAny reads a byte of a file, or a name of a directory.
func readAny(p, _ string) (func() error, error) {
	fd, err := unix.Open(p, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 4096)
	if _, err = unix.Read(fd, buf); errors.Is(err, unix.EISDIR) {
		_, err = unix.Getdents(fd, buf)
	}
	return nil, err
}

// tmpfile gives a nameless file a name.
func tmpfile(p, _ string) (func() error, error) {
	fd, err := unix.Open(path.Dir(p), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return unlinks(p), unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, p, unix.AT_SYMLINK_FOLLOW)
}
