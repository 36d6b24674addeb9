package linux

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
)

var arches = []Arch{AMD64, ARM64}

// data is struct seccomp_data of linux/seccomp.h. The virtual machine loads
// words as big endian, so each is written so.
func data(a Arch, nr uint32, args ...uint64) []byte {
	b := make([]byte, 64)
	binary.BigEndian.PutUint32(b[offNumber:], nr)
	binary.BigEndian.PutUint32(b[offArch:], a.Audit)
	for i, arg := range args {
		binary.BigEndian.PutUint32(b[offLow(i):], uint32(arg))
		binary.BigEndian.PutUint32(b[offHigh(i):], uint32(arg>>32))
	}
	return b
}

// machine runs a filter the way the kernel would.
func machine(t *testing.T, filter []Instruction) *bpf.VM {
	t.Helper()
	raw := make([]bpf.RawInstruction, len(filter))
	for i, in := range filter {
		raw[i] = bpf.RawInstruction{Op: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	program, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the filter holds an instruction that is none of BPF's")
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

func verdict(t *testing.T, vm *bpf.VM, in []byte) string {
	t.Helper()
	got, err := vm.Run(in)
	if err != nil {
		t.Fatal(err)
	}
	switch v := uint32(got); {
	case v == retAllow:
		return "pass"
	case v == retKill:
		return "kill"
	case v == retNotify:
		return "notify"
	case v&0xffff0000 == retErrno:
		return Errno(v & 0xffff).String()
	default:
		return fmt.Sprintf("%#x", v)
	}
}

func nr(t *testing.T, a Arch, call string) uint32 {
	t.Helper()
	n, ok := SyscallNumber(a, call)
	if !ok {
		t.Fatalf("%s: no call %q", a.Name, call)
	}
	return uint32(n)
}

func staticFilter(t *testing.T, c FilterConfig, a Arch) []Instruction {
	t.Helper()
	f, err := Filter(c, a)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const high = 1 << 32 // an int argument with rubbish above it is the same argument

func TestFilterVerdicts(t *testing.T) {
	for _, tt := range []struct {
		call string
		args []uint64
		want string
	}{
		{"socket", []uint64{1, 1, 0}, "EAFNOSUPPORT"},
		{"socket", []uint64{high | 1, 1, 0}, "EAFNOSUPPORT"},
		{"socket", []uint64{0, 1, 0}, "EAFNOSUPPORT"},
		{"socket", []uint64{17, 3, 0}, "EAFNOSUPPORT"}, // AF_PACKET
		{"socket", []uint64{40, 1, 0}, "EAFNOSUPPORT"}, // AF_VSOCK
		{"socket", []uint64{38, 5, 0}, "EAFNOSUPPORT"}, // AF_ALG
		{"socket", []uint64{44, 3, 0}, "EAFNOSUPPORT"}, // AF_XDP
		{"socket", []uint64{0xffffffff, 1, 0}, "EAFNOSUPPORT"},
		{"socket", []uint64{2, 1, 0}, "pass"},
		{"socket", []uint64{high | 2, high | 1, high}, "pass"},
		{"socket", []uint64{2, 1 | 0x80000 | 0x800, 6}, "pass"},
		{"socket", []uint64{10, 2, 17}, "pass"},
		{"socket", []uint64{2, 1, 262}, "pass"}, // MPTCP: Go listens with it
		{"socket", []uint64{2, 2, 1}, "pass"},   // ping
		{"socket", []uint64{2, 3, 1}, "EPERM"},
		{"socket", []uint64{2, high | 3 | 0x80000, 1}, "EPERM"},
		{"socket", []uint64{10, 3, 255}, "EPERM"},
		{"socket", []uint64{2, 10, 0}, "EPERM"},
		{"socket", []uint64{2, 5, 132}, "EPERM"},           // SCTP, SEQPACKET
		{"socket", []uint64{2, 1, 132}, "EPROTONOSUPPORT"}, // SCTP, STREAM
		{"socket", []uint64{10, 1, 256}, "EPROTONOSUPPORT"},
		{"socket", []uint64{16, 3, 0}, "pass"}, // getifaddrs
		{"socket", []uint64{16, 3 | 0x80000, high}, "pass"},
		{"socket", []uint64{16, 2, 12}, "EPROTONOSUPPORT"}, // NETLINK_NETFILTER
		{"socket", []uint64{16, 3, high | 9}, "EPROTONOSUPPORT"},
		{"socketpair", []uint64{1, 1, 0}, "pass"},
		{"socketpair", []uint64{1, 5 | 0x80000, 0}, "pass"},
		{"socketpair", []uint64{1, 2, 0}, "EPERM"},
		{"socketpair", []uint64{high | 1, high | 2 | 0x800, 0}, "EPERM"},
		{"socketpair", []uint64{1, 3, 0}, "EPERM"}, // SOCK_RAW is SOCK_DGRAM here
		{"socketpair", []uint64{30, 1, 0}, "EAFNOSUPPORT"},
		{"clone", []uint64{17}, "pass"},
		{"clone", []uint64{0x3d0f00}, "pass"}, // a thread
		{"clone", []uint64{0x4111}, "pass"},   // vfork
		{"clone", []uint64{0x10000000 | 17}, "EPERM"},
		{"clone", []uint64{high | 0x20000 | 17}, "EPERM"},
		{"clone", []uint64{0x40000000}, "EPERM"},
		{"clone", []uint64{0x80 | 17}, "pass"}, // within the signal bits
		{"unshare", []uint64{0x400}, "pass"},   // CLONE_FILES
		{"unshare", []uint64{0x80}, "EPERM"},
		{"unshare", []uint64{0x10000000}, "EPERM"},
		{"unshare", []uint64{0x02000000}, "EPERM"},
		{"clone3", []uint64{1, 88}, "ENOSYS"},
		{"ioctl", []uint64{0, 0x5412}, "EPERM"},
		{"ioctl", []uint64{0, high | 0x5412}, "EPERM"},
		{"ioctl", []uint64{0, 0xffffffff0000541c}, "EPERM"},
		{"ioctl", []uint64{0, 0x5423}, "EPERM"},
		{"ioctl", []uint64{0, 0x4b49}, "EPERM"},
		{"ioctl", []uint64{0x5412, 0x5401, 0x541c}, "pass"},
		{"ioctl", []uint64{0, 0x540e}, "pass"}, // TIOCSCTTY
		{"ioctl", []uint64{0, 0x5413}, "pass"}, // TIOCGWINSZ
		{"ioctl", []uint64{0, 0x5411}, "pass"},
		{"seccomp", []uint64{1, 0}, "pass"},
		{"seccomp", []uint64{1, 8}, "EPERM"},
		{"seccomp", []uint64{high | 1, high | 8 | 1}, "EPERM"},
		{"seccomp", []uint64{0, 0}, "pass"},
		{"seccomp", []uint64{3, 8}, "pass"}, // GET_NOTIF_SIZES knows no flags
		{"prctl", []uint64{22, 2}, "pass"},
		{"personality", []uint64{0xffffffff}, "pass"},
		{"personality", []uint64{0x40000}, "pass"},
		{"personality", []uint64{0x40008}, "pass"},
		{"personality", []uint64{0x400000}, "EPERM"}, // READ_IMPLIES_EXEC
		{"personality", []uint64{high | 0x100000}, "EPERM"},
		{"ptrace", []uint64{16, 1}, "pass"},
		{"openat2", nil, "ENOSYS"},
		{"kill", []uint64{0, 15}, "EPERM"},
		{"kill", []uint64{high, 15}, "EPERM"},
		{"kill", []uint64{7, 15}, "pass"},
		{"kill", []uint64{0xffffffff, 15}, "pass"}, // all in the pid namespace
		{"setpriority", []uint64{1, 0, 19}, "EPERM"},
		{"setpriority", []uint64{high | 1, high, 19}, "EPERM"},
		{"setpriority", []uint64{1, 7, 19}, "pass"},
		{"setpriority", []uint64{0, 0, 19}, "pass"},
		{"ioprio_set", []uint64{2, 0, 0x6000}, "EPERM"},
		{"ioprio_set", []uint64{1, 0, 0x6000}, "pass"},
		{"fchmod", []uint64{3, 0o4755}, "EPERM"},
		{"fchmod", []uint64{3, 0o2755}, "pass"},
		{"fchmodat", []uint64{3, 0, high | 0o4000}, "EPERM"},
		{"fchmodat2", []uint64{3, 0, 0o6777}, "EPERM"},
		{"mknodat", []uint64{3, 0, 0o104755, 0}, "EPERM"},
		{"openat", []uint64{3, 0, 0o101, 0o4755}, "EPERM"},
		{"openat", []uint64{3, 0, 0o20200001, 0o4755}, "EPERM"}, // O_TMPFILE
		{"openat", []uint64{3, 0, 0, 0o4755}, "pass"},           // no file is made: the mode is rubbish
		{"openat", []uint64{3, 0, 0o101, 0o644}, "pass"},
		{"statmount", nil, "pass"},
		{"io_uring_setup", nil, "ENOSYS"},
		{"mount", nil, "EPERM"},
		{"open_tree_attr", nil, "EPERM"},
		{"keyctl", nil, "EPERM"},
		{"setns", nil, "EPERM"},
	} {
		for _, a := range arches {
			vm := machine(t, staticFilter(t, FilterConfig{}, a))
			if got := verdict(t, vm, data(a, nr(t, a, tt.call), tt.args...)); got != tt.want {
				t.Errorf("%s %s(%#x): got %s, want %s", a.Name, tt.call, tt.args, got, tt.want)
			}
		}
	}
}

// On an architecture that has them, the calls that came before the "at" family.
func TestFilterSetuidOldCalls(t *testing.T) {
	vm := machine(t, staticFilter(t, FilterConfig{GroupSignals: true}, AMD64))
	for _, tt := range []struct {
		call string
		args []uint64
		want string
	}{
		{"chmod", []uint64{0, 0o4755}, "EPERM"}, {"chmod", []uint64{0, 0o755}, "pass"},
		{"creat", []uint64{0, 0o4755}, "EPERM"}, {"creat", []uint64{0, 0o644}, "pass"},
		{"mknod", []uint64{0, 0o104755}, "EPERM"}, {"mknod", []uint64{0, 0o10644}, "pass"},
		{"open", []uint64{0, 0o101, 0o4755}, "EPERM"}, {"open", []uint64{0, 0, 0o4755}, "pass"},
		{"kill", []uint64{0, 15}, "pass"}, // Landlock keeps it inside
	} {
		if got := verdict(t, vm, data(AMD64, nr(t, AMD64, tt.call), tt.args...)); got != tt.want {
			t.Errorf("%s(%#o): got %s, want %s", tt.call, tt.args, got, tt.want)
		}
	}
}

func TestFilterUnixSockets(t *testing.T) {
	for _, a := range arches {
		vm := machine(t, staticFilter(t, FilterConfig{UnixSockets: true}, a))
		// SOCK_RAW of AF_UNIX is SOCK_DGRAM (unix_create, net/unix/af_unix.c).
		for kind, want := range map[uint64][2]string{1: {"pass", "pass"}, 5: {"pass", "pass"}, 1 | 0x80000: {"pass", "pass"},
			2: {"EPROTONOSUPPORT", "EPERM"}, 3: {"EPROTONOSUPPORT", "EPERM"}} {
			for i, call := range []string{"socket", "socketpair"} {
				if got := verdict(t, vm, data(a, nr(t, a, call), 1, kind, 0)); got != want[i] {
					t.Errorf("%s %s of AF_UNIX, type %#x: got %s, want %s", a.Name, call, kind, got, want[i])
				}
			}
		}
		if got := verdict(t, vm, data(a, nr(t, a, "socket"), 40, 1)); got != "EAFNOSUPPORT" {
			t.Errorf("%s: AF_VSOCK: got %s", a.Name, got)
		}
	}
}

// Every number of the table and its neighbours: what no row names passes, and a
// row without a test decides whatever the arguments are.
func TestFilterEveryNumber(t *testing.T) {
	for _, a := range arches {
		always := map[uint32]string{}
		tested := map[uint32]bool{}
		for _, r := range StaticRows(FilterConfig{}) {
			n, ok := SyscallNumber(a, r.Call)
			switch {
			case ok && len(r.When) == 0:
				always[uint32(n)] = r.Errno.String()
			case ok:
				tested[uint32(n)] = true
			}
		}
		vm := machine(t, staticFilter(t, FilterConfig{}, a))
		for n := range uint32(512) {
			if tested[n] {
				continue
			}
			want, ok := always[n]
			if !ok {
				want = "pass"
			}
			for _, arg := range []uint64{0, 1, ^uint64(0)} {
				if got := verdict(t, vm, data(a, n, arg, arg, arg, arg, arg, arg)); got != want {
					t.Errorf("%s %s: got %s, want %s", a.Name, SyscallName(a, int(n)), got, want)
				}
			}
		}
	}
}

func TestFilterForeignEntries(t *testing.T) {
	for _, a := range arches {
		vm := machine(t, staticFilter(t, FilterConfig{}, a))
		for _, audit := range []uint32{0, 0x40000003 /* i386 */, 0x40000028 /* arm */, 0xc00000b7 + 1, ^uint32(0)} {
			if got := verdict(t, vm, data(Arch{Audit: audit}, nr(t, a, "read"))); got != "kill" {
				t.Errorf("%s: architecture %#x: got %s", a.Name, audit, got)
			}
		}
	}
	if got := verdict(t, machine(t, staticFilter(t, FilterConfig{}, AMD64)), data(ARM64, 63)); got != "kill" {
		t.Errorf("arm64 under amd64's filter: got %s", got)
	}
}

func TestFilterX32(t *testing.T) {
	vm := machine(t, staticFilter(t, FilterConfig{}, AMD64))
	for n, want := range map[uint32]string{
		511: "pass", 512: "kill", 514: "kill", 547: "kill", 548: "pass",
		0x3fffffff: "pass", 0x40000000: "kill", 0x40000029: "kill", 0x40000000 + 514: "kill",
		0x80000000: "kill", 0xfffffffe: "kill",
		0xffffffff: "pass", // a tracer skips a call
	} {
		if got := verdict(t, vm, data(AMD64, n, 1, 1)); got != want {
			t.Errorf("number %#x: got %s, want %s", n, got, want)
		}
	}
}

func TestFilterIsSmall(t *testing.T) {
	for _, a := range arches {
		if n := len(staticFilter(t, FilterConfig{}, a)); n > 500 {
			t.Errorf("%s: %d instructions", a.Name, n)
		}
	}
}

func TestArchOf(t *testing.T) {
	for _, a := range arches {
		if got, err := ArchOf(a.Name); err != nil || got.Audit != a.Audit {
			t.Errorf("%s: got %+v, %v", a.Name, got, err)
		}
	}
	if _, err := ArchOf("riscv64"); err == nil {
		t.Error("riscv64: no error although there is no filter for it")
	}
	if _, err := Filter(FilterConfig{}, Arch{}); err == nil {
		t.Error("the zero architecture: no error")
	}
}

func TestRowsAreExplained(t *testing.T) {
	rows := slices.Concat(StaticRows(FilterConfig{}), Describe())
	for _, r := range rows {
		if r.Reason == "" || r.Action != Refuse || r.Errno == 0 || !known(r.Call) {
			t.Errorf("%+v: incomplete", r)
		}
		for _, w := range r.When {
			if w.Words == "" {
				t.Errorf("%s: a test without words", r.Call)
			}
		}
	}
}

func TestMistakenRowsAreRefused(t *testing.T) {
	if _, err := assemble([]Row{{Call: "no_such_call", Action: Refuse}}, AMD64); err == nil {
		t.Error("a row for a call that does not exist: no error")
	}
}

// A block longer than a conditional jump reaches is still right.
func TestLongBranches(t *testing.T) {
	long := ret(retKill)
	for i := range 300 {
		long = branch(opEqual, uint32(1000+i), ret(retErrno|uint32(i)), long)
	}
	for name, code := range map[string]block{
		"yes": branch(opEqual, 7, long, ret(retAllow)),
		"one": oneOf([]uint32{7, 8}, long, ret(retAllow)),
	} {
		vm := machine(t, code.after(Instruction{Op: opLoad, K: offNumber}))
		for n, want := range map[uint32]string{7: "kill", 9: "pass"} {
			if got := verdict(t, vm, data(AMD64, n)); got != want {
				t.Errorf("%s, %d: got %s, want %s", name, n, got, want)
			}
		}
	}
}
