package policy

import "io/fs"

// Host is what Compile must know of the machine. It is a value: whoever fills
// it has done the looking, except for FS, which Compile asks.
type Host struct {
	OS   string // GOOS: "linux", "darwin"
	Home string // absolute; empty: ~ grants and hides nothing
	UID  int
	// Env is the caller's environment, NAME=value. Order is kept.
	Env []string
	FS  FS

	// Executable is gosrt's own binary, protected from writing.
	Executable string
	// Tunnel is the gosrt command that git's ssh connects through, so that a
	// refusal says why. Empty: it connects as it is, and is captured.
	Tunnel string
	// ConfigDir and StateDir are gosrt's own; never opened by any rule.
	ConfigDir, StateDir string
	// CacheRoot holds the private cache directories of all projects, protected
	// from writing but for CacheDir. Empty: there are none.
	CacheRoot string
	// CacheDir is this project's private cache directory, created by the
	// caller; it is writable inside. Empty: none.
	CacheDir string

	// ProxyPort is where the proxy listens already, for both protocols, on a
	// host that gives the command no network of its own. Zero: the usual ports.
	ProxyPort uint16

	Support Support
}

// Support is what this host can enforce beyond the minimum. A false field
// weakens only what needs it, and Plan.Weaknesses says so.
type Support struct {
	// Guard: seccomp user notification works (Linux 5.9 and later).
	Guard bool
	// Landlock: ABI 2 or later (Linux 5.19, and enabled at boot).
	Landlock bool
	// Transparent: gosrt may make its own network namespace and an nft redirect.
	Transparent bool
	// Why holds, for each false field by its name, what was missing.
	Why map[string]string
}

// FS is the host's file tree as Compile sees it. Paths are absolute host paths
// and may hold any byte but NUL (io/fs refuses names that are not UTF-8).
// Errors satisfy errors.Is with fs.ErrNotExist and fs.ErrPermission.
type FS interface {
	Lstat(path string) (FileInfo, error)
	Readlink(path string) (string, error)
	// ReadDir returns the names in path, unsorted, without . and ..
	ReadDir(path string) ([]DirEntry, error)
	// ReadFile is for git's own files (.git, commondir, config), which say where
	// a repository really is. At most 1 MiB; more is an error.
	ReadFile(path string) ([]byte, error)
}

// FileInfo is what lstat says of one path.
type FileInfo struct {
	Mode     fs.FileMode // type and permission bits
	Dev, Ino uint64      // identity
	UID      int
	Nlink    uint64
	Size     int64
}

// DirEntry is one name of a directory with its type bits.
type DirEntry struct {
	Name string
	Type fs.FileMode
}

// Command is what the user wants to run.
type Command struct {
	Argv []string // Argv[0] is looked up inside, in the command's PATH
	Dir  string   // absolute working directory
}
