package linux

import "slices"

// FilterConfig selects what the static seccomp filter refuses.
type FilterConfig struct {
	UnixSockets bool // AF_UNIX socket() is allowed because connects are notified
	// Listener says that a NotifyFilter is installed on top. It refuses a second
	// listener, so that this filter need not refuse the first.
	Listener bool
	// GroupSignals lets kill(0) through, because Landlock keeps it inside.
	GroupSignals bool
}

// Constants of the kernel's interface, here because they must be the same on
// whatever system the filter is rendered. Tests hold them against x/sys/unix.
const (
	afUnix    = 1
	afInet    = 2
	afInet6   = 10
	afNetlink = 16

	sockStream    = 1
	sockDgram     = 2
	sockSeqpacket = 5
	sockTypeMask  = 0xf // SOCK_TYPE_MASK of linux/net.h; above are CLOEXEC and NONBLOCK

	protoICMP, protoTCP, protoUDP, protoICMPv6, protoMPTCP = 1, 6, 17, 58, 262

	// CLONE_NEW* of linux/sched.h. CLONE_NEWTIME lies among clone's signal bits,
	// so only unshare knows it.
	cloneNewSpaces = 0x7e020000
	cloneNewTime   = 0x80

	tiocsti, tioclinux, tiocsetd = 0x5412, 0x541c, 0x5423 // asm-generic/ioctls.h

	prioPgrp      = 1      // PRIO_PGRP of linux/resource.h
	ioprioWhoPgrp = 2      // IOPRIO_WHO_PGRP of linux/ioprio.h
	modeSetuid    = 0o4000 // S_ISUID of linux/stat.h

	seccompSetModeFilter = 1
	seccompNewListener   = 1 << 3

	personalityQuery = 0xffffffff
	// PER_LINUX32, UNAME26 and ADDR_NO_RANDOMIZE of linux/personality.h.
	personalityHarmless = 0x8 | 0x20000 | 0x40000
)

// Keyboard tables of a virtual console (linux/kd.h): a key that types a command
// is TIOCSTI with a delay.
var consoleKeys = []uint32{
	0x4b47, // KDSKBENT
	0x4b49, // KDSKBSENT
	0x4b4b, // KDSKBDIACR
	0x4b4d, // KDSETKEYCODE
	0x4bfb, // KDSKBDIACRUC
}

// Filter renders the filter that every process of a run is under. Another
// architecture and x32 are killed; what the table does not name passes. It
// restricts calls only: files are held by mounts, addresses by the network
// namespace. ptrace, process_vm_writev, pidfd_getfd and kcmp stay, for
// debuggers: they reach what the pid namespace holds, and in it nothing is
// unfiltered and the stage is undumpable. Further filters may be installed;
// they only tighten.
func Filter(c FilterConfig, a Arch) ([]Instruction, error) {
	return assemble(StaticRows(c), a)
}

// StaticRows returns the table behind Filter.
func StaticRows(c FilterConfig) []Row {
	rows := slices.Concat(socketRows(c), namespaceRows, terminalRows, personalityRows, groupRows, setuidRows, refusals())
	if !c.Listener {
		rows = append(rows, listenerRow)
	}
	if !c.GroupSignals {
		rows = append(rows, groupSignalRow)
	}
	return rows
}

// Describe returns the table of a run that decides Unix sockets, for explain
// and for documents.
func Describe() []Row { return StaticRows(FilterConfig{UnixSockets: true, GroupSignals: true}) }

func domain(op Op, words string, values ...uint32) Test {
	return Test{Arg: 0, Op: op, Values: values, Words: words}
}

// socketRows let through the families that a program without privileges has a
// use for. All others are a way past the network namespace (AF_VSOCK), raw
// frames, or old kernel code that loads on first use.
func socketRows(c FilterConfig) []Row {
	families, words := []uint32{afInet, afInet6, afNetlink}, "domain is not AF_INET, AF_INET6 or AF_NETLINK"
	if c.UnixSockets {
		families, words = append(families, afUnix), "domain is not AF_INET, AF_INET6, AF_NETLINK or AF_UNIX"
	}
	inet := domain(In, "domain is AF_INET or AF_INET6", afInet, afInet6)
	rows := []Row{
		{Call: "socket", When: []Test{domain(NotIn, words, families...)},
			Action: Refuse, Errno: eAFNOSUPPORT, Reason: "only TCP, UDP, ping and routing queries are of use inside; AF_VSOCK leaves the network namespace"},
		{Call: "socket", When: []Test{
			domain(In, "domain is AF_NETLINK", afNetlink),
			{Arg: 2, Op: NotIn, Values: []uint32{0}, Words: "protocol is not NETLINK_ROUTE"}},
			Action: Refuse, Errno: ePROTONOSUPPORT, Reason: "getifaddrs needs NETLINK_ROUTE; the others configure the kernel"},
		{Call: "socket", When: []Test{inet,
			{Arg: 1, Op: NotIn, Mask: sockTypeMask, Values: []uint32{sockStream, sockDgram}, Words: "type is not SOCK_STREAM or SOCK_DGRAM"}},
			Action: Refuse, Errno: ePERM, Reason: "raw and packet sockets forge traffic"},
		{Call: "socket", When: []Test{inet,
			{Arg: 2, Op: NotIn, Values: []uint32{0, protoTCP, protoUDP, protoICMP, protoICMPv6, protoMPTCP}, Words: "protocol is not TCP, MPTCP, UDP or ICMP"}},
			Action: Refuse, Errno: ePROTONOSUPPORT, Reason: "SCTP, DCCP, SMC and their like load kernel code that nothing inside needs"},
		{Call: "socketpair", When: []Test{domain(NotIn, "domain is not AF_UNIX", afUnix)},
			Action: Refuse, Errno: eAFNOSUPPORT, Reason: "only Unix sockets come in pairs"},
	}
	if c.UnixSockets {
		rows = append(rows, unixDatagrams)
	}
	return append(rows, datagramPairs)
}

// A datagram socket sends to any address without a connect, and the address of
// sendmsg is in memory: no check of it could hold.
var unixDatagrams = Row{Call: "socket", When: []Test{
	domain(In, "domain is AF_UNIX", afUnix),
	{Arg: 1, Op: NotIn, Mask: sockTypeMask, Values: []uint32{sockStream, sockSeqpacket}, Words: "type is not SOCK_STREAM or SOCK_SEQPACKET"}},
	Action: Refuse, Errno: ePROTONOSUPPORT, Reason: "a datagram socket reaches sockets of the host past every decision about connects"}

// A datagram socket of a pair can be connected or sent anywhere afterwards, to
// the host's journal for one; a stream socket of a pair cannot.
var datagramPairs = Row{Call: "socketpair", When: []Test{
	{Arg: 1, Op: NotIn, Mask: sockTypeMask, Values: []uint32{sockStream, sockSeqpacket}, Words: "type is not SOCK_STREAM or SOCK_SEQPACKET"}},
	Action: Refuse, Errno: ePERM, Reason: "a datagram socket of a pair sends to sockets of the host past every decision about connects"}

var newSpaces = Test{Arg: 0, Op: Has, Mask: cloneNewSpaces, Words: "flags hold a CLONE_NEW bit"}

// namespaceRows keep what is inside in the namespaces that it is in: in a new
// user namespace it would have every capability and with it most of the
// kernel's bugs. Chromium needs --no-sandbox for the same reason as under
// Ubuntu 24.04.
var namespaceRows = []Row{
	{Call: "clone", When: []Test{newSpaces}, Action: Refuse, Errno: ePERM, Reason: "a new namespace gives capabilities in it"},
	{Call: "unshare", When: []Test{{Arg: 0, Op: Has, Mask: cloneNewSpaces | cloneNewTime, Words: "flags hold a CLONE_NEW bit"}},
		Action: Refuse, Errno: ePERM, Reason: "a new namespace gives capabilities in it"},
	// ENOSYS, so that glibc, musl, Rust and Go fall back to clone.
	{Call: "clone3", Action: Refuse, Errno: eNOSYS, Reason: "its flags are in memory, where a filter cannot look; programs fall back to clone"},
}

// terminalRows let the command keep the caller's terminal. TIOCSCTTY stays: a
// program that opens a pty of its own needs it.
var terminalRows = []Row{
	{Call: "ioctl", When: []Test{{Arg: 1, Op: In, Values: []uint32{tiocsti}, Words: "request is TIOCSTI"}},
		Action: Refuse, Errno: ePERM, Reason: "it types into the terminal as if the user did (CVE-2017-5226)"},
	{Call: "ioctl", When: []Test{{Arg: 1, Op: In, Values: []uint32{tioclinux}, Words: "request is TIOCLINUX"}},
		Action: Refuse, Errno: ePERM, Reason: "it pastes into the console (CVE-2023-28100)"},
	{Call: "ioctl", When: []Test{{Arg: 1, Op: In, Values: consoleKeys, Words: "request sets a keyboard table"}},
		Action: Refuse, Errno: ePERM, Reason: "a redefined key types on the console later"},
	{Call: "ioctl", When: []Test{{Arg: 1, Op: In, Values: []uint32{tiocsetd}, Words: "request is TIOCSETD"}},
		Action: Refuse, Errno: ePERM, Reason: "line disciplines load kernel code that nothing inside needs (CVE-2017-2636)"},
}

// listenerRow is in whichever filter is the last.
var listenerRow = Row{Call: "seccomp", When: []Test{
	{Arg: 0, Op: In, Values: []uint32{seccompSetModeFilter}, Words: "operation is SECCOMP_SET_MODE_FILTER"},
	{Arg: 1, Op: Has, Mask: seccompNewListener, Words: "flags hold SECCOMP_FILTER_FLAG_NEW_LISTENER"}},
	Action: Refuse, Errno: ePERM, Reason: "a listener inside would let calls continue that the supervisor wants to see"}

var personalityRows = []Row{
	{Call: "personality", When: []Test{
		{Arg: 0, Op: NotIn, Values: []uint32{personalityQuery}, Words: "persona is not the query"},
		{Arg: 0, Op: Has, Mask: ^uint32(personalityHarmless), Words: "persona is more than PER_LINUX32, UNAME26, ADDR_NO_RANDOMIZE"}},
		Action: Refuse, Errno: ePERM, Reason: "old personalities weaken memory protection; gdb and setarch -R keep theirs"},
}

// groupSignalRow: a process group is not bounded by a pid namespace.
var groupSignalRow = Row{Call: "kill", When: []Test{
	{Arg: 0, Op: In, Values: []uint32{0}, Words: "it goes to the own process group"}},
	Action: Refuse, Errno: ePERM, Reason: "the group holds processes outside, and this kernel's Landlock cannot keep a signal inside (Linux 6.12)"}

// groupRows: as with signals, but no scope bounds these.
var groupRows = []Row{
	ownGroup("setpriority", prioPgrp),
	ownGroup("ioprio_set", ioprioWhoPgrp),
}

func ownGroup(call string, which uint32) Row {
	return Row{Call: call, When: []Test{
		{Arg: 0, Op: In, Values: []uint32{which}, Words: "which is a process group"},
		{Arg: 1, Op: In, Values: []uint32{0}, Words: "it is the own one"}},
		Action: Refuse, Errno: ePERM, Reason: "the group holds processes outside"}
}

// setuidRows: a file made inside with the set-user-ID bit is run outside, where
// the write root is not mounted nosuid, by whoever finds it, as the user who ran
// gosrt; as root, if root did. mkdir is not here: the kernel ignores the bit.
// openat2 is not because it is refused as a whole.
var setuidRows = []Row{
	bearsSetuid("chmod", 1), bearsSetuid("fchmod", 1), bearsSetuid("fchmodat", 2), bearsSetuid("fchmodat2", 2),
	bearsSetuid("mknod", 1), bearsSetuid("mknodat", 2), bearsSetuid("creat", 1),
	bearsSetuid("open", 2, creates(1)), bearsSetuid("openat", 3, creates(2)),
}

// creates tells an open whose mode counts; otherwise the argument is rubbish.
func creates(arg int) Test {
	return Test{Arg: arg, Op: Has, Mask: openCreating, Words: "flags create"}
}

func bearsSetuid(call string, mode int, when ...Test) Row {
	return Row{Call: call, When: append(when, Test{Arg: mode, Op: Has, Mask: modeSetuid, Words: "mode holds S_ISUID"}),
		Action: Refuse, Errno: ePERM, Reason: "a program with the set-user-ID bit gives the caller's rights to whoever runs it outside"}
}

// refusals are the calls that are refused whatever their arguments.
func refusals() []Row {
	var rows []Row
	for _, g := range refusalGroups {
		for _, call := range g.calls {
			rows = append(rows, Row{Call: call, Action: Refuse, Errno: g.errno, Reason: g.reason})
		}
	}
	return rows
}

// EPERM is what the kernel itself answers to a caller without the capability;
// ENOSYS stands where programs look for it to choose another way.
var refusalGroups = []struct {
	errno  Errno
	reason string
	calls  []string
}{
	{eNOSYS, "it runs other calls past every filter", []string{"io_uring_setup", "io_uring_enter", "io_uring_register"}},
	{eNOSYS, "its flags and mode are in memory, where a filter cannot look; programs fall back to openat", []string{"openat2"}},
	{ePERM, "mounts are what holds the file rules", []string{
		"mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "open_tree_attr", "fsopen", "fsconfig",
		"fsmount", "fspick", "mount_setattr"}},
	{ePERM, "it enters another namespace", []string{"setns"}},
	{ePERM, "it opens a file by number, past every path rule (CVE-2014-3519)", []string{"open_by_handle_at"}},
	{ePERM, "key rings are not bounded by a namespace", []string{"add_key", "request_key", "keyctl"}},
	{ePERM, "it puts code into the kernel", []string{
		"bpf", "init_module", "finit_module", "delete_module", "create_module", "kexec_load", "kexec_file_load"}},
	{ePERM, "a favourite tool of kernel exploits; rr and perf do not work inside", []string{"perf_event_open", "userfaultfd"}},
	{ePERM, "it watches files beyond the run", []string{"fanotify_init"}},
	{ePERM, "it changes the whole machine", []string{
		"acct", "swapon", "swapoff", "reboot", "quotactl", "quotactl_fd", "settimeofday", "clock_settime", "vhangup",
		"iopl", "ioperm"}},
	{ePERM, "it reads or clears the kernel's log", []string{"syslog"}},
	{ePERM, "the security label of a run is not its own to set", []string{"lsm_set_self_attr"}},
	{ePERM, "old kernel code that nothing inside needs", []string{
		"lookup_dcookie", "nfsservctl", "modify_ldt", "uselib", "_sysctl"}},
}
