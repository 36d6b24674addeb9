package linux

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux/stage"
)

func TestStageCarriesBytes(t *testing.T) {
	plan := &policy.Plan{
		Argv: []string{"printf", "a b", "", "x'y", "new\nline", "\xff\xfe", "<&>\u2028"},
		Env:  []string{"A=\xf0\x28", "B="},
		Dir:  "/d\xff",
	}
	data, err := NewStage(plan).Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := stage.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plan.Argv, stringsOf(got.Argv)); diff != "" {
		t.Errorf("argv (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(plan.Env, stringsOf(got.Env)); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
	if string(got.Dir) != plan.Dir {
		t.Errorf("dir = %q", got.Dir)
	}
}

// Every cover must be verified, and a mount that a later one hides must not be:
// it is not what the command meets.
func TestExpectations(t *testing.T) {
	got := expectations([]policy.Mount{
		{Kind: policy.MountROBind, Source: "/", Dest: "/"},
		{Kind: policy.MountROBind, Source: "/w/a", Dest: "/w/a", Dev: 1, Ino: 5}, // a pin: buried by its write root
		{Kind: policy.MountBind, Source: "/w", Dest: "/w", Dev: 1, Ino: 2},
		{Kind: policy.MountROBind, Source: "/w/.git/hooks", Dest: "/w/.git/hooks", Dev: 1, Ino: 3},
		{Kind: policy.MountHide, Dest: "/h", Dir: true},
		{Kind: policy.MountBind, Source: "/h/in", Dest: "/h/in", Dev: 1, Ino: 4},
		{Kind: policy.MountRemountRO, Dest: "/h"},
		{Kind: policy.MountROBind, Source: "/dev/pts", Dest: "/dev/pts", Dev: 9, Ino: 9},
		{Kind: policy.MountDev, Dest: "/dev"},
	})
	want := map[string]stage.Expect{
		"/": {}, "/w": {Dev: 1, Ino: 2}, "/w/.git/hooks": {Dev: 1, Ino: 3}, "/h": {}, "/h/in": {Dev: 1, Ino: 4}, "/dev": {},
	}
	if len(got) != len(want) {
		t.Errorf("%d expectations, want %d", len(got), len(want))
	}
	for _, e := range got {
		w, ok := want[string(e.Dest)]
		if !ok || e.Dev != w.Dev || e.Ino != w.Ino {
			t.Errorf("unexpected %s %d:%d", e.Dest, e.Dev, e.Ino)
		}
	}
}

func stringsOf(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}
