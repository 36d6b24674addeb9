package stage

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLookUp(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("a/tool", 0o644)
	write("b/tool", 0o755)
	write("a/plain", 0o644)
	write("c/dir/x", 0o755)
	env := []string{"PATH=" + dir + "/a:" + dir + "/b:" + dir + "/c"}
	for _, tt := range []struct {
		name, want             string
		missing, notExecutable bool
	}{
		{name: "tool", want: dir + "/b/tool"}, // as execvp: a file that cannot be executed is passed over
		{name: "plain", notExecutable: true},
		{name: "dir", notExecutable: true},
		{name: "nope", missing: true},
		{name: dir + "/a/plain", notExecutable: true},
		{name: dir + "/a/nope", missing: true},
		{name: dir + "/a/plain/x", missing: true},
		{name: dir + "/b/tool", want: dir + "/b/tool"},
	} {
		got, status := lookUp(env, tt.name)
		switch {
		case status == nil && got != tt.want,
			status == nil && (tt.missing || tt.notExecutable),
			status != nil && (status.Missing != tt.missing || status.NotExecutable != tt.notExecutable):
			t.Errorf("%s: got %q, %+v", tt.name, got, status)
		}
	}
}

func TestControlCarriesDescriptors(t *testing.T) {
	ours, theirs, err := SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := Send(int(theirs.Fd()), Message{Kind: MsgNotify, Data: []byte("x"), FDs: []int{int(w.Fd())}}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	theirs.Close()
	m, err := Receive(int(ours.Fd()))
	if err != nil || m.Kind != MsgNotify || string(m.Data) != "x" || len(m.FDs) != 1 {
		t.Fatalf("got %+v, %v", m, err)
	}
	flags, err := unix.FcntlInt(uintptr(m.FDs[0]), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("the received descriptor would leak into a child: flags %d, %v", flags, err)
	}
	unix.Close(m.FDs[0])
	if _, err := Receive(int(ours.Fd())); err == nil {
		t.Error("no end of messages although the other side is closed")
	}
}

// A verification that cannot fail would be none: the root is a mount, a
// directory in it is not, and another inode is not the one compiled.
func TestVerifyMounts(t *testing.T) {
	dir := t.TempDir()
	var st unix.Stat_t
	if err := unix.Lstat("/proc", &st); err != nil {
		t.Fatal(err)
	}
	good := Expect{Dest: "/proc", Dev: st.Dev, Ino: st.Ino}
	other := good
	other.Ino++
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/proc", link); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		e    Expect
		ok   bool
	}{
		{"a mount", good, true},
		{"any file", Expect{Dest: "/proc"}, true},
		{"another file", other, false},
		{"not a mount", Expect{Dest: dir}, false},
		{"a link to the mount", Expect{Dest: link}, false},
		{"missing", Expect{Dest: dir + "/nope"}, false},
	} {
		if err := verifyMounts([]Expect{tt.e}); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
