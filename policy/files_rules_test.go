package policy

import "testing"

// A final permission to read yields to a deeper denial as well.
func TestFinalReadYieldsToDeeperDenial(t *testing.T) {
	files := Files{
		{Kind: DenyRead, Path: "/s", Final: true},
		{Kind: AllowRead, Path: "/s/c", Final: true},
		{Kind: DenyRead, Path: "/s/c/x"},
	}
	for path, want := range map[string]Verdict{"/s/a": Deny, "/s/c/a": Allow, "/s/c/x": Deny, "/s/c/x/a": Deny} {
		if d := files.DecideRead(path); d.Verdict != want {
			t.Errorf("%s: %v (%s), want %v", path, d.Verdict, d.Reason, want)
		}
	}
}

// A final permission stands against the denials around it, not against one that
// is deeper, whatever else denies.
func TestFinalPermissionYieldsToDeeperDenial(t *testing.T) {
	files := Files{
		{Kind: Protect, Path: "/s", Final: true},
		{Kind: AllowWrite, Path: "/s/c", Final: true},
		{Kind: DenyWrite, Path: "/s/c/x"},
	}
	for path, want := range map[string]Verdict{"/s/a": Deny, "/s/c/a": Allow, "/s/c/x": Deny, "/s/c/x/a": Deny} {
		if d := files.DecideWrite(path); d.Verdict != want {
			t.Errorf("%s: %v (%s), want %v", path, d.Verdict, d.Reason, want)
		}
	}
}
