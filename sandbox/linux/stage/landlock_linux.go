package stage

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A read-only mount stops changes to files, not what is written into a FIFO that
// lies on it, and a descriptor that the caller handed over leads back to the
// host's own mount (/proc/self/fd/0). Landlock, landlock(7), closes both: the
// command may open for writing only what lies beneath the places listed.
//
// Nor does a pid namespace bound kill(0): the caller's process group holds the
// supervisor and whatever else the caller's shell or build started with it, and
// the signal goes to all of them. A scope of Landlock keeps it inside.

// landlockMinimum is ABI 2, Linux 5.19: before it, every rename between two
// directories is refused (LANDLOCK_ACCESS_FS_REFER).
const landlockMinimum = 2

// landlockScopes is ABI 6, Linux 6.12: the first with LANDLOCK_SCOPE_SIGNAL.
const landlockScopes = 6

const (
	landlockFileRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	landlockTruncate   = unix.LANDLOCK_ACCESS_FS_TRUNCATE // ABI 3, Linux 6.2
	landlockDirRights  = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
)

// LandlockSupported reports whether this kernel has what the second wall needs.
func LandlockSupported() bool { return landlockABI() >= landlockMinimum }

// SignalsScoped reports whether Landlock keeps the command's signals inside.
// Elsewhere the static filter refuses kill(0).
func SignalsScoped() bool { return landlockABI() >= landlockScopes }

// landlockABI returns 0 where there is none.
func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// landlock confines this thread, and so what it forks, to writing beneath the
// writable places and into the standard descriptors that are open for it. It
// does nothing on a kernel without: the supervisor has said so as a weakness.
func landlock(writable []string) error {
	abi := landlockABI()
	if abi < landlockMinimum {
		return nil
	}
	file := uint64(landlockFileRights)
	if abi >= 3 {
		file |= landlockTruncate
	}
	ruleset, err := newRuleset(abi, file|landlockDirRights)
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	defer unix.Close(ruleset)
	for _, path := range writable {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("landlock: %q: %w", path, err)
		}
		err = allowBeneath(ruleset, fd, file)
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("landlock: %q: %w", path, err)
		}
	}
	for fd := range 3 {
		if err := allowDescriptor(ruleset, fd, file); err != nil {
			return fmt.Errorf("landlock: descriptor %d: %w", fd, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}

func newRuleset(abi int, handled uint64) (int, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled}
	size := unsafe.Sizeof(attr.Handled_access_fs) // the field that every ABI knows
	if abi >= landlockScopes {
		attr.Scoped, size = unix.LANDLOCK_SCOPE_SIGNAL, unsafe.Offsetof(attr.Scoped)+unsafe.Sizeof(attr.Scoped)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// allowBeneath grants what fits the kind of file that fd is: the kernel refuses
// directory rights on anything else.
func allowBeneath(ruleset, fd int, file uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: file, Parent_fd: int32(fd)}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		attr.Allowed_access |= landlockDirRights
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// allowDescriptor lets programs open what they already hold for writing by its
// name (/dev/stdout). Pipes and sockets need no rule and take none.
func allowDescriptor(ruleset, fd int, file uint64) error {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE == unix.O_RDONLY || flags&unix.O_PATH != 0 {
		return nil
	}
	err = allowBeneath(ruleset, fd, file)
	if errors.Is(err, unix.EBADFD) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}
