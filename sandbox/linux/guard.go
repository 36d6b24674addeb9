package linux

// What each guarded call does to names, and where in its arguments they are.

type guardKind int

const (
	guardOpen guardKind = iota // flags in an argument
	guardMake                  // mkdir, mknod
	guardSymlink
	guardLink
	guardRename
	guardTruncate
	guardRemove
	guardBind
	guardConnect
)

// makes says that a call of the kind can bring a name into being.
func (k guardKind) makes() bool {
	return k != guardTruncate && k != guardRemove && k != guardConnect
}

// nameArgs are the arguments that hold a name: the descriptor of the directory it
// is relative to (-1: the working directory) and the address of its text.
type nameArgs struct{ dir, path int }

type guardCall struct {
	call  string
	kind  guardKind
	name  nameArgs
	to    nameArgs // the new name of link and rename
	flags int      // the argument with the flags; -1: it has none
}

var guardCalls = []guardCall{
	{call: "open", kind: guardOpen, name: nameArgs{-1, 0}, flags: 1},
	{call: "openat", kind: guardOpen, name: nameArgs{0, 1}, flags: 2},
	{call: "creat", kind: guardOpen, name: nameArgs{-1, 0}, flags: -1},
	{call: "mkdir", kind: guardMake, name: nameArgs{-1, 0}, flags: -1},
	{call: "mkdirat", kind: guardMake, name: nameArgs{0, 1}, flags: -1},
	{call: "mknod", kind: guardMake, name: nameArgs{-1, 0}, flags: -1},
	{call: "mknodat", kind: guardMake, name: nameArgs{0, 1}, flags: -1},
	{call: "symlink", kind: guardSymlink, name: nameArgs{-1, 1}, flags: -1},
	{call: "symlinkat", kind: guardSymlink, name: nameArgs{1, 2}, flags: -1},
	{call: "link", kind: guardLink, name: nameArgs{-1, 0}, to: nameArgs{-1, 1}, flags: -1},
	{call: "linkat", kind: guardLink, name: nameArgs{0, 1}, to: nameArgs{2, 3}, flags: 4},
	{call: "rename", kind: guardRename, name: nameArgs{-1, 0}, to: nameArgs{-1, 1}, flags: -1},
	{call: "renameat", kind: guardRename, name: nameArgs{0, 1}, to: nameArgs{2, 3}, flags: -1},
	{call: "renameat2", kind: guardRename, name: nameArgs{0, 1}, to: nameArgs{2, 3}, flags: 4},
	{call: "truncate", kind: guardTruncate, name: nameArgs{-1, 0}, flags: -1},
	{call: "unlink", kind: guardRemove, name: nameArgs{-1, 0}, flags: -1},
	{call: "unlinkat", kind: guardRemove, name: nameArgs{0, 1}, flags: -1},
	{call: "rmdir", kind: guardRemove, name: nameArgs{-1, 0}, flags: -1},
	{call: "bind", kind: guardBind, flags: -1},
	{call: "connect", kind: guardConnect, flags: -1},
}

// guardNotify is what the guard is told of. Changes of mode, owner and times are
// not: tar and cp make several of them a file, and on what matters the mounts
// refuse them. Sending to an address is not: a Unix socket inside is connected
// or has no peer, because datagram sockets of that family are refused.
var guardNotify = NotifyConfig{Names: true, Writes: true, Removals: true, Connects: true, Bind: true}

// guardTable indexes guardCalls by number.
func guardTable(a Arch) map[int]guardCall {
	table := map[int]guardCall{}
	for _, c := range guardCalls {
		if nr, ok := SyscallNumber(a, c.call); ok {
			table[nr] = c
		}
	}
	return table
}
