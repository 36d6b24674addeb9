package linux

// NotifyConfig selects the calls that wait for the supervisor's answer. Each
// group costs only the programs that make its calls; reading costs nothing. The
// zero value notifies nothing, and its filter still refuses a second listener.
type NotifyConfig struct {
	// Names are the calls after which a file name is there that was not: create,
	// rename, link, and the bind of a socket when Bind is set too. The guard of
	// absent protected paths needs them.
	Names bool
	// Writes are the opens for writing and truncations by name. Only the report
	// needs them: the mounts decide.
	Writes bool
	// Removals are unlink and rmdir, for the report.
	Removals bool
	// Attributes are changes of mode, owner, times and extended attributes, for
	// the report. tar and cp make several of them a file.
	Attributes bool
	// Connects is connect: AF_UNIX is decided by path.
	Connects bool
	// Sends are the calls that send to an address. sendmsg and sendmmsg are
	// always notified then, since their address is in memory.
	Sends bool
	// Bind is bind of any family: a Unix one makes a name, and an Internet one
	// tells which port the command listens on.
	Bind bool
}

// Open flags of asm-generic/fcntl.h, the same on both architectures.
// O_TMPFILE is this bit together with O_DIRECTORY, which is not the same.
const (
	openWriting  = 0x3 | 0x200 | 0x400 // O_WRONLY, O_RDWR, O_TRUNC, O_APPEND
	openCreating = 0x40 | 0x400000     // O_CREAT, __O_TMPFILE
)

// NotifyFilter renders the filter whose listener the supervisor answers. It
// stands beside the static one, and of two verdicts the kernel takes the
// stricter: a refused call is never notified. Another architecture is killed
// here too, so that neither filter depends on the other.
//
// It is no boundary by itself: names are in the caller's memory and can change
// after they were read. What holds files is the mounts.
func NotifyFilter(c NotifyConfig, a Arch) ([]Instruction, error) {
	return assemble(NotifyRows(c), a)
}

// NotifyRows returns the table behind NotifyFilter.
func NotifyRows(c NotifyConfig) []Row {
	rows := append(openRows(c), listenerRow)
	for _, g := range notifyGroups {
		if g.wanted(c) {
			rows = append(rows, notifyAll(g.reason, g.calls...)...)
		}
	}
	if c.Sends {
		rows = append(rows, Row{Call: "sendto", Action: Notify, Reason: "reaches a socket by address",
			When: []Test{{Arg: 4, Op: Set, Words: "an address is given"}}})
	}
	return rows
}

// openRows look at the flags, so that opening for reading is not notified.
func openRows(c NotifyConfig) []Row {
	var bits uint32
	var words string
	switch {
	case c.Names && c.Writes:
		bits, words = openCreating|openWriting, "flags create or write"
	case c.Names:
		bits, words = openCreating, "flags create"
	case c.Writes:
		bits, words = openWriting, "flags write"
	default:
		return nil
	}
	const reason = "opens a file for writing"
	row := func(call string, arg int) Row {
		return Row{Call: call, Action: Notify, Reason: reason, When: []Test{{Arg: arg, Op: Has, Mask: bits, Words: words}}}
	}
	return append([]Row{row("open", 1), row("openat", 2)}, notifyAll(reason, "creat")...)
}

func notifyAll(reason string, calls ...string) []Row {
	rows := make([]Row, len(calls))
	for i, call := range calls {
		rows[i] = Row{Call: call, Action: Notify, Reason: reason}
	}
	return rows
}

var notifyGroups = []struct {
	wanted func(NotifyConfig) bool
	reason string
	calls  []string
}{
	{func(c NotifyConfig) bool { return c.Names }, "makes or moves a name", []string{
		"mkdir", "mkdirat", "mknod", "mknodat", "symlink", "symlinkat", "link", "linkat", "rename", "renameat", "renameat2"}},
	{func(c NotifyConfig) bool { return c.Writes }, "changes a file by name", []string{"truncate"}},
	{func(c NotifyConfig) bool { return c.Removals }, "removes a name", []string{"unlink", "unlinkat", "rmdir"}},
	{func(c NotifyConfig) bool { return c.Attributes }, "changes what a file is, not what it holds", []string{
		"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat",
		"utime", "utimes", "futimesat", "utimensat",
		"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat",
		"file_setattr"}},
	{func(c NotifyConfig) bool { return c.Connects }, "reaches a socket by address", []string{"connect"}},
	{func(c NotifyConfig) bool { return c.Sends }, "reaches a socket by address", []string{"sendmsg", "sendmmsg"}},
	{func(c NotifyConfig) bool { return c.Bind }, "makes a socket's name", []string{"bind"}},
}
