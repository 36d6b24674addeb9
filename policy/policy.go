package policy

import "net/netip"

// Policy is what the user asked for, all layers merged, nothing resolved
// against the machine yet. The zero Policy hides nothing, writes nothing and
// reaches nothing.
type Policy struct {
	Filesystem Filesystem
	Network    Network
	Env        Env
	Report     Report
	Darwin     Darwin

	// Bwrap is the bubblewrap binary to use instead of the fixed directories.
	// Empty: the fixed directories are searched.
	Bwrap string

	// Layers lists what was read, weakest first, for policy show and reports.
	Layers []LayerInfo
	// Untrusted lists the grants of a project file that the user has not
	// trusted; they are not part of the policy.
	Untrusted []string
	// Notes are one-line remarks of the load (a warning about srt settings, say).
	Notes []string
}

// Filesystem holds the four path lists. Absent, empty and null lists all deny.
type Filesystem struct {
	DenyRead   []PathRule
	AllowRead  []PathRule
	AllowWrite []PathRule
	DenyWrite  []PathRule
	Tmp        TmpMode
	Absent     AbsentMode
	// WriteImpliesRead keeps the meaning of srt's settings file: an allowWrite
	// inside or equal to a denyRead opens reading there. False: such an entry
	// needs its own allowRead, else Compile refuses it.
	WriteImpliesRead bool
}

// TmpMode says what the command sees as /tmp.
type TmpMode int

const (
	// TmpPrivate shows a fresh empty directory that disappears with the run.
	TmpPrivate TmpMode = iota
	// TmpHost shows the host's, read-only unless allowed.
	TmpHost
)

// AbsentMode says how a protected path that does not exist yet is kept from
// being created inside a write root.
type AbsentMode int

const (
	// AbsentGuard refuses the creating call by name and creates nothing on the host.
	AbsentGuard AbsentMode = iota
	// AbsentCover holds the place with a placeholder mount.
	AbsentCover
)

// Network says where connections may go. The zero value reaches nothing.
type Network struct {
	Allowed []HostRule
	Denied  []HostRule
	// PrivateDenied refuses names that resolve to private ranges (RFC 1918,
	// RFC 4193, RFC 6598), privateAddresses = "deny". False: they may be dialled.
	PrivateDenied bool
	// DeniedAddresses are literals and ranges that no name may resolve to.
	DeniedAddresses []HostRule
	// SNIIgnored lets a TLS server name or HTTP Host differ from the host that
	// was allowed, sni = "ignore".
	SNIIgnored bool
	// NoTransparent leaves programs that ignore proxy variables without a
	// network, transparent = false.
	NoTransparent bool
	// Upstream is the proxy that gosrt itself goes through: "" direct, "env"
	// the caller's proxy variables, or an http, https or socks5 URL.
	Upstream string
	// UnixSockets are the host's sockets that the command may connect to.
	UnixSockets []PathRule
	// HostPorts are ports of the host's 127.0.0.1 that are reachable inside.
	HostPorts []PortRule
	// Publish are ports inside that are reachable on the host's 127.0.0.1.
	Publish []PublishRule
	// Hosts answers names from the policy instead of DNS, as /etc/hosts does. An
	// address written here is a literal the user named, so it may be loopback.
	Hosts []HostEntry
	// Ask lets an asker decide hosts that no rule decides. Nobody to ask denies.
	Ask bool
}

// HostEntry maps one canonical name to addresses.
type HostEntry struct {
	Name   string
	Addrs  []netip.Addr
	Origin Origin
}

// PortRule is one port with its origin.
type PortRule struct {
	Port   uint16
	Text   string
	Origin Origin
}

// PublishRule makes Inside reachable on the host's 127.0.0.1:Outside. Auto
// publishes what the command listens on, under the same number.
type PublishRule struct {
	Outside, Inside uint16
	Auto            bool
	Text            string
	Origin          Origin
}

// Env says which variables reach the command.
type Env struct {
	// Minimal starts from the few variables programs need, mode = "minimal".
	// False: the caller's variables less those the scrub table removes.
	Minimal bool
	Pass    []EnvRule // kept although the mode would remove them; Value unused
	Set     []EnvRule // set to Value, after everything else
	Unset   []EnvRule // removed, after Pass; Value unused
}

// EnvRule is one variable named by the user.
type EnvRule struct {
	Name   string
	Value  string
	Origin Origin
}

// Report says what is recorded of a run.
type Report struct {
	Audit string // file of the hash-chained audit log; empty: none
}

// Darwin opens macOS services by feature; each is off at zero and each is a
// weakening that Plan.Weaknesses names.
type Darwin struct {
	Trustd, AppleEvents, Keychain, LaunchServices, Pty bool
	MachLookup                                         []string
}

// Layer is where a rule came from, weakest first.
type Layer int

const (
	LayerBuiltin Layer = iota
	LayerPreset
	LayerUser
	LayerProject
	LayerSettings // srt's JSON settings file
	LayerFile     // --policy FILE
	LayerFlag
	LayerLibrary // set by a program that uses the library
	LayerManaged // only tightens; nothing opens what it denies
)

// LayerInfo names one layer that took part.
type LayerInfo struct {
	Layer  Layer
	Name   string // path, preset name or flag
	Digest string // sha256 of the file's bytes in hex; empty where there is no file
}

// Origin is the place a rule was written.
type Origin struct {
	Layer Layer
	// Name is the file as the user would type it, the flag ("--allow-write"),
	// or the preset. Empty for the built-in default.
	Name string
	Line int // 1-based; 0 where there is no line
}

// PathRule is one entry of a path list.
type PathRule struct {
	Text string // as the user wrote it
	// Path is absolute: ~ and $VAR expanded, relative entries joined to their
	// base, "." and trailing slashes folded. Links are not followed yet. Bytes,
	// not necessarily UTF-8.
	Path string
	// Pattern says that Path holds wildcards (* ? [ ) that mean something.
	Pattern bool
	Origin  Origin
	// Reason is why a built-in row exists; empty for the user's rules.
	Reason string
	// Group is the catalogue group of a built-in row ("ssh", "shell-start").
	Group string
	// Empty shows an empty file instead of a refusal, for tools that cannot
	// live with EACCES on their configuration file. Built-in rows only.
	Empty bool
}

// HostRule is one entry of a host list.
type HostRule struct {
	Text    string
	Pattern HostPattern
	Reason  string // why it is denied, as the user or the table says
	Origin  Origin
}
