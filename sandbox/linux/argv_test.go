package linux

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gosrt/gosrt/policy"
)

func TestMountArgs(t *testing.T) {
	for _, tt := range []struct {
		mount policy.Mount
		want  string
	}{
		{policy.Mount{Kind: policy.MountBind, Source: "/a b", Dest: "/c"}, "--bind|/a b|/c"},
		{policy.Mount{Kind: policy.MountROBind, Source: "/a", Dest: "/a"}, "--ro-bind|/a|/a"},
		{policy.Mount{Kind: policy.MountTmpfs, Dest: "/tmp", Perms: 0o700}, "--perms|0700|--tmpfs|/tmp"},
		{policy.Mount{Kind: policy.MountHide, Dest: "/h", Dir: true}, "--perms|0000|--tmpfs|/h"},
		{policy.Mount{Kind: policy.MountHide, Dest: "/h", Dir: true, Perms: 0o555}, "--perms|0555|--tmpfs|/h"},
		{policy.Mount{Kind: policy.MountHide, Dest: "/f"}, "--ro-bind|/dev/null|/f"},
		{policy.Mount{Kind: policy.MountRemountRO, Dest: "/h"}, "--remount-ro|/h"},
		{policy.Mount{Kind: policy.MountProc, Dest: "/proc"}, "--proc|/proc"},
		{policy.Mount{Kind: policy.MountDev, Dest: "/dev"}, "--dev|/dev"},
		{policy.Mount{Kind: policy.MountSymlink, Source: "../x", Dest: "/l"}, "--symlink|../x|/l"},
	} {
		if got := strings.Join(mountArgs(tt.mount), "|"); got != tt.want {
			t.Errorf("%+v: got %s, want %s", tt.mount, got, tt.want)
		}
	}
}

func TestArgvKeepsTheOrderOfMounts(t *testing.T) {
	plan := &policy.Plan{Mounts: []policy.Mount{
		{Kind: policy.MountROBind, Source: "/", Dest: "/"},
		{Kind: policy.MountEmpty, Dest: "/e1"},
		{Kind: policy.MountBind, Source: "/w", Dest: "/w"},
		{Kind: policy.MountEmpty, Dest: "/e2"},
	}}
	got := Argv(plan, Features{})
	want := []string{"--ro-bind", "/", "/", "--ro-bind-data", "8", "/e1", "--bind", "/w", "/w", "--ro-bind-data", "9", "/e2"}
	if diff := cmp.Diff(want, got[len(got)-len(want):]); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	if n := emptyFiles(plan.Mounts); n != 2 {
		t.Errorf("emptyFiles = %d, want one descriptor for each", n)
	}
}

func TestArgvNamespaces(t *testing.T) {
	with := Argv(&policy.Plan{}, Features{DisableUserns: true})
	for _, flag := range []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--unshare-net",
		"--die-with-parent", "--as-pid-1", "--disable-userns",
	} {
		if !slices.Contains(with, flag) {
			t.Errorf("%s is missing from %q", flag, with)
		}
	}
	if slices.Contains(with, "--new-session") {
		t.Error("--new-session takes the terminal away; TIOCSTI is refused by the filter")
	}
}
