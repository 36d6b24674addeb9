package linux

import (
	"testing"
)

var everything = NotifyConfig{Names: true, Writes: true, Removals: true, Attributes: true, Connects: true, Sends: true, Bind: true}

func TestNotifyVerdicts(t *testing.T) {
	names, writes := NotifyConfig{Names: true}, NotifyConfig{Writes: true}
	for _, tt := range []struct {
		call   string
		args   []uint64
		config NotifyConfig
		want   string
	}{
		{"openat", []uint64{0, 0, 0}, everything, "pass"},
		{"openat", []uint64{0, 0, 0x80000 | 0x8000 | 0x800}, everything, "pass"}, // O_CLOEXEC, O_LARGEFILE, O_NONBLOCK
		{"openat", []uint64{0x41, 0x41, 0}, everything, "pass"},
		{"openat", []uint64{0, 0, 0x1}, everything, "notify"},
		{"openat", []uint64{0, 0, 0x2}, everything, "notify"},
		{"openat", []uint64{0, 0, 0x3}, everything, "notify"},
		{"openat", []uint64{0, 0, 0x40}, everything, "notify"}, // O_RDONLY|O_CREAT
		{"openat", []uint64{0, 0, 0x200}, everything, "notify"},
		{"openat", []uint64{0, 0, 0x400}, everything, "notify"},
		{"openat", []uint64{0, 0, 0x400000}, everything, "notify"},
		{"openat", []uint64{0, 0, high | 0x40}, everything, "notify"},
		{"openat", []uint64{0, 0, high}, everything, "pass"},
		{"openat", []uint64{0, 0, 0x1}, names, "pass"},
		{"openat", []uint64{0, 0, 0x41}, names, "notify"},
		{"openat", []uint64{0, 0, 0x40}, writes, "pass"},
		{"openat", []uint64{0, 0, 0x201}, writes, "notify"},
		{"openat", []uint64{0, 0, 0x41}, NotifyConfig{}, "pass"},
		{"mkdirat", nil, names, "notify"},
		{"renameat2", nil, names, "notify"},
		{"linkat", nil, names, "notify"},
		{"symlinkat", nil, names, "notify"},
		{"mknodat", nil, names, "notify"},
		{"mkdirat", nil, writes, "pass"},
		{"truncate", nil, writes, "notify"},
		{"ftruncate", nil, everything, "pass"},
		{"unlinkat", nil, NotifyConfig{Removals: true}, "notify"},
		{"unlinkat", nil, names, "pass"},
		{"fchmodat2", nil, NotifyConfig{Attributes: true}, "notify"},
		{"setxattrat", nil, NotifyConfig{Attributes: true}, "notify"},
		{"fchmodat", nil, NotifyConfig{Names: true, Writes: true}, "pass"},
		{"connect", nil, NotifyConfig{Connects: true}, "notify"},
		{"sendmsg", nil, NotifyConfig{Sends: true}, "notify"},
		{"sendmmsg", nil, NotifyConfig{Sends: true}, "notify"},
		{"sendto", []uint64{0, 0, 0, 0, 0, 0}, NotifyConfig{Sends: true}, "pass"},
		{"sendto", []uint64{0, 0, 0, 0, 0x1000, 16}, NotifyConfig{Sends: true}, "notify"},
		{"sendto", []uint64{0, 0, 0, 0, 7 << 32, 16}, NotifyConfig{Sends: true}, "notify"}, // low half zero
		{"connect", nil, names, "pass"},
		{"bind", nil, NotifyConfig{Bind: true}, "notify"},
		{"bind", nil, NotifyConfig{Connects: true}, "pass"},
		{"seccomp", []uint64{1, 8}, NotifyConfig{}, "EPERM"},
		{"seccomp", []uint64{1, 0}, everything, "pass"},
		{"read", nil, everything, "pass"},
		{"execve", nil, everything, "pass"},
		{"recvmsg", nil, everything, "pass"},
	} {
		for _, a := range arches {
			f, err := NotifyFilter(tt.config, a)
			if err != nil {
				t.Fatal(err)
			}
			if got := verdict(t, machine(t, f), data(a, nr(t, a, tt.call), tt.args...)); got != tt.want {
				t.Errorf("%s %s(%#x) under %+v: got %s, want %s", a.Name, tt.call, tt.args, tt.config, got, tt.want)
			}
		}
	}
}

// amd64 has older calls that arm64 never had.
func TestNotifyOldCalls(t *testing.T) {
	f, err := NotifyFilter(everything, AMD64)
	if err != nil {
		t.Fatal(err)
	}
	vm := machine(t, f)
	for _, call := range []string{"creat", "mkdir", "mknod", "symlink", "link", "rename", "unlink", "rmdir", "chmod", "chown", "lchown", "utime", "utimes", "futimesat"} {
		if got := verdict(t, vm, data(AMD64, nr(t, AMD64, call))); got != "notify" {
			t.Errorf("%s: got %s", call, got)
		}
	}
	open := nr(t, AMD64, "open")
	for flags, want := range map[uint64]string{0: "pass", 0x80000: "pass", 0x41: "notify", 0x2: "notify"} {
		if got := verdict(t, vm, data(AMD64, open, 0, flags)); got != want {
			t.Errorf("open with %#x: got %s, want %s", flags, got, want)
		}
	}
}

// A foreign entry is killed, never notified: the numbers would mean other calls.
func TestNotifyForeignEntries(t *testing.T) {
	f, err := NotifyFilter(everything, AMD64)
	if err != nil {
		t.Fatal(err)
	}
	vm := machine(t, f)
	for _, in := range [][]byte{
		data(Arch{Audit: 0x40000003}, nr(t, AMD64, "connect")),
		data(AMD64, 0x40000000|nr(t, AMD64, "connect")),
		data(AMD64, 518), // x32's sendmsg
	} {
		if got := verdict(t, vm, in); got != "kill" {
			t.Errorf("%x: got %s", in[:8], got)
		}
	}
}

func TestNotifyRowsAreExplained(t *testing.T) {
	for _, r := range NotifyRows(everything) {
		if r.Reason == "" || !known(r.Call) || r.Action != Notify && r.Call != "seccomp" {
			t.Errorf("%+v: incomplete", r)
		}
	}
}
