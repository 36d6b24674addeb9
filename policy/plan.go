package policy

// Plan is a Policy closed over one Host and one Command: absolute, resolved,
// ordered. Renderers translate it and decide nothing.
type Plan struct {
	OS   string
	Argv []string
	// Dir is the command's working directory, the same path inside as outside.
	Dir string
	// Env is the command's whole environment, NAME=value, no name twice.
	Env []string
	// EnvChanges lists what differs from the caller's environment, sorted by name.
	EnvChanges []EnvChange

	// Files is the closed table that DecideRead and DecideWrite ask.
	Files Files
	// Found are the places that denied patterns of Files match now, in order of
	// the rules. They decide nothing that Files does not; a backend that cannot
	// cover a place by name pins the way to it.
	Found []Found
	// Mounts is the ordered list of mounts on Linux. A later one covers an
	// earlier one, so the order is part of the meaning.
	Mounts []Mount

	// Network is the policy the proxies ask; it needs no closing over the host.
	Network Network
	// HTTPPort and SOCKSPort are where the proxies answer on 127.0.0.1 inside.
	HTTPPort, SOCKSPort uint16
	// Transparent captures connections of programs that ignore the proxies.
	Transparent bool
	// Guard asks for the seccomp user-notification monitor.
	Guard bool
	// Sockets are the Unix sockets the command may connect to, resolved.
	Sockets []FileRule

	Darwin Darwin
	Bwrap  string
	Home   string
	TmpDir string // where TMPDIR points, inside
	// StateDir is gosrt's own, invisible inside. Empty: nothing can be kept.
	StateDir string

	// Weaknesses are what this plan does not hold on this host.
	Weaknesses []Weakness
	// Notes are one-line remarks for the user ("argument /tmp/x is not visible").
	Notes []string
	// Untrusted is copied from the policy.
	Untrusted []string
}

// Found is one place that existed at the start.
type Found struct {
	Path string // canonical
	Rule int    // index into Plan.Files
}

// EnvChange is one variable that was removed or set, and why. Values of
// removed variables are never kept.
type EnvChange struct {
	Name   string
	Op     EnvOp
	Value  string // the new value for EnvSet
	Reason string
}

// EnvOp says what happened to a variable.
type EnvOp int

const (
	EnvRemoved EnvOp = iota
	EnvSet
)

// MountKind uses bwrap's words.
type MountKind string

const (
	MountBind   MountKind = "bind"    // Source on Dest, writable
	MountROBind MountKind = "ro-bind" // Source on Dest, read-only, submounts too
	MountTmpfs  MountKind = "tmpfs"   // empty, with Perms
	MountDev    MountKind = "dev"     // minimal /dev
	MountProc   MountKind = "proc"    // fresh /proc
	// MountHide covers Dest so that opening it answers EACCES, for root too.
	// Dir says which cover fits. A covered directory that holds a re-opened
	// place is listable (Perms 0555), any other is not (Perms 0).
	MountHide MountKind = "hide"
	// MountEmpty covers a file with an empty read-only one.
	MountEmpty MountKind = "empty"
	// MountRemountRO makes an earlier tmpfs read-only once its children are in place.
	MountRemountRO MountKind = "remount-ro"
	// MountSymlink makes a symbolic link Dest -> Source inside a fresh directory.
	MountSymlink MountKind = "symlink"
)

// Mount is one step of building the command's file tree.
type Mount struct {
	Kind   MountKind
	Source string // host path for bind kinds, link target for symlink
	Dest   string
	Dir    bool   // Dest is a directory
	Perms  uint32 // tmpfs and hide
	// Dev and Ino identify Source as it was when compiled, for bind kinds. A
	// source that is another file by the time it is mounted refuses the run.
	// Zero: not checked (the source is the system's own, such as / or /dev/null).
	Dev, Ino uint64
	// Why is the rule that put it here, for gosrt plan.
	Why string
}

// FileKind is what one FileRule does.
type FileKind string

const (
	DenyRead   FileKind = "denyRead"
	AllowRead  FileKind = "allowRead"
	AllowWrite FileKind = "allowWrite"
	DenyWrite  FileKind = "denyWrite"
	Protect    FileKind = "protect" // denyWrite from the table of protected paths
	Socket     FileKind = "allowUnixSockets"
)

// FileRule is a PathRule at the place where it really is.
type FileRule struct {
	Kind FileKind
	// Path is canonical: absolute, every link followed. For a Pattern, the part
	// before the first wildcard component is canonical.
	Path string
	// Spelled is the path before links were followed, when that differs.
	Spelled string
	Pattern bool
	// Exists says whether Path was there at compile time, Dir whether as a directory.
	Exists, Dir bool
	// Exact says the rule covers Path alone, not what is beneath it.
	Exact bool
	// Link says that Path is itself a symbolic link that a rule was spelled
	// through. A mount cannot cover a link, so only the guard holds it.
	Link bool
	// Final says that no rule of the user's stands against this one: a managed
	// denyRead, gosrt's own files, .git/hooks.
	Final bool
	// Fresh says that Path is a tree of the run's own (/proc, /dev, the private
	// /tmp): what the host has there is not visible, unless allowed by name.
	Fresh bool
	// Empty shows an empty file instead of a refusal.
	Empty bool
	// Birth is what git itself writes here in a repository that it makes during
	// the run. Nil: nothing.
	Birth *Birth
	Rule  PathRule
}

// Birth opens part of a rule in a repository that did not exist when the run
// began.
type Birth struct {
	// Up leads from the place the rule matched to the directory that must be
	// new: 1 for .git/config, 0 for .git itself.
	Up int
	// Names are patterns below that directory: "hooks", "hooks/*.sample".
	// Empty: all that the rule covers.
	Names []string
}

// Files is the closed table of path rules.
type Files []FileRule

// Weakness is something the plan does not hold.
type Weakness struct {
	ID   string // stable: "abstract-guard-race", "open-network"
	Text string // one line in plain words
}
