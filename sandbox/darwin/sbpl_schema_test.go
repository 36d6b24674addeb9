package darwin

import "strings"

// The evaluator, part two: what each macOS knows. A name outside these tables
// is "unbound variable" and fails the profile.

// macOSVersions are the ones modelled.
var macOSVersions = []int{13, 14, 15, 26}

// sbplOps lists operations with the wildcard above them and the first macOS that
// binds them (0: all).
var sbplOps = parseOps(`
default              -               0
file*                default         0
file-read*           file*           0
file-read-data       file-read*      0
file-read-metadata   file-read*      0
file-read-xattr      file-read*      0
file-write*          file*           0
file-write-data      file-write*     0
file-write-create    file-write*     0
file-write-unlink    file-write*     0
file-write-mode      file-write*     0
file-write-owner     file-write*     0
file-write-flags     file-write*     0
file-write-times     file-write*     0
file-write-acl       file-write*     0
file-write-xattr     file-write*     0
file-write-finderinfo file-write*    0
file-write-setugid   file*           0
file-mknod           file*           0
file-mount           file*           0
file-mount-update    file*           0
file-unmount         file*           0
file-chroot          file*           0
file-ioctl           file*           0
file-revoke          file*           0
file-issue-extension file*           0
file-search          file*           0
file-link            file*           0
file-clone           file*           0
file-map-executable  file*           0
file-test-existence  file*           0
file-graft           file*           26
file-ungraft         file*           26
fs-snapshot*         default         0
fs-snapshot-create   fs-snapshot*    0
fs-snapshot-delete   fs-snapshot*    0
fs-snapshot-mount    fs-snapshot*    0
fs-snapshot-revert   fs-snapshot*    0
network*             default         0
network-outbound     network*        0
network-inbound      network*        0
network-bind         network*        0
system-socket        default         0
process*             default         0
process-exec*        process*        0
process-exec         process-exec*   0
process-exec-interpreter process-exec* 0
process-fork         process*        0
process-info*        process*        0
process-info-pidinfo process-info*   0
signal               default         0
mach-lookup          default         0
mach-register        default         0
mach-priv-task-port  default         0
ipc-posix-sem        default         0
ipc-posix-shm        default         0
ipc-sysv-sem         default         0
sysctl-read          default         0
sysctl-write         default         0
iokit-open           default         0
appleevent-send      default         0
lsopen               default         0
pseudo-tty           default         0
user-preference-read default         0
distributed-notification-post default 0
`)

type sbplOp struct {
	parent string
	since  int
}

func parseOps(table string) map[string]sbplOp {
	out := map[string]sbplOp{}
	for line := range strings.Lines(strings.TrimSpace(table)) {
		f := strings.Fields(line)
		op := sbplOp{parent: f[1]}
		if f[2] == "26" {
			op.since = 26
		}
		out[f[0]] = op
	}
	return out
}

// sbplPreamble is what "(version 1)" allows under any default.
var sbplPreamble = strings.Fields(`file-link file-clone file-map-executable file-test-existence
	fs-snapshot-mount file-graft file-ungraft process-info-pidinfo`)

// sbplPessimist is what a macOS that nobody measured might allow too: the
// operations that the profile denies by name although the default closes them on
// the versions that were measured.
var sbplPessimist = strings.Fields(`file-mknod file-mount file-mount-update file-unmount file-chroot
	fs-snapshot-create fs-snapshot-delete fs-snapshot-revert`)

// sbplFilters lists filters: the operations they fit by prefix, and what they take.
var sbplFilters = map[string]struct {
	ops string // space-separated prefixes
	arg string // "string", "symbol", "filter", "filters", "address", "number"
}{
	"literal":            {"file network process-exec", "string"},
	"subpath":            {"file network process-exec", "string"},
	"prefix":             {"file network process-exec", "string"},
	"regex":              {"file network process-exec", "string"},
	"vnode-type":         {"file", "symbol"},
	"extension":          {"file", "string"},
	"require-all":        {"", "filters"},
	"require-any":        {"", "filters"},
	"require-not":        {"", "filter"},
	"target":             {"process-info signal mach-priv-task-port", "symbol"},
	"global-name":        {"mach", "string"},
	"global-name-prefix": {"mach", "string"},
	"sysctl-name":        {"sysctl", "string"},
	"sysctl-name-prefix": {"sysctl", "string"},
	"socket-domain":      {"system-socket", "symbol"},
	"socket-protocol":    {"system-socket", "number"},
	"remote":             {"network-outbound network-inbound", "address"},
	"local":              {"network-bind network-inbound network-outbound", "address"},
}

var sbplConstants = map[string]string{
	"vnode-type":    "REGULAR-FILE DIRECTORY SYMLINK CHARACTER-DEVICE BLOCK-DEVICE SOCKET TTY FIFO",
	"target":        "self others same-sandbox children",
	"socket-domain": "AF_UNIX AF_SYSTEM AF_ROUTE AF_INET AF_INET6",
}
