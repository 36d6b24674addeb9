package linux

import (
	"testing"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux/stage"
)

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
		w, ok := want[e.Dest]
		if !ok || e.Dev != w.Dev || e.Ino != w.Ino {
			t.Errorf("unexpected %s %d:%d", e.Dest, e.Dev, e.Ino)
		}
	}
}
