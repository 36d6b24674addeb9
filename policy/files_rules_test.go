package policy

import "testing"

// A pattern for git's files is lifted for branches of that name only, not for
// what the user calls the directories around a repository or a submodule.
func TestGitPatternsAreLiftedForBranchesAlone(t *testing.T) {
	for path, lifted := range map[string]bool{
		"/home/u/logs/p/sub/.git/config":              false,
		"/home/u/refs/heads/p/.git/config":            false,
		"/p/.git/modules/logs/config":                 false,
		"/p/.git/modules/a/logs/config":               false,
		"/p/.git/refs/heads/x/.git/config":            false,
		"/p/.git/modules/m/refs/heads/config":         true,
		"/p/.git/modules/m/logs/refs/heads/config":    true,
		"/p/.git/modules/m/refs/remotes/origin/hooks": true,
	} {
		if got := excepted(branchDirs, "/", path); got != lifted {
			t.Errorf("%s: lifted %v, want %v", path, got, lifted)
		}
	}
	if !excepted(branchDirs, "/srv/logs/refs/x.git/modules", "/srv/logs/refs/x.git/modules/m/logs/refs/config") ||
		excepted(branchDirs, "/srv/logs/refs/x.git/modules", "/srv/logs/refs/x.git/modules/m/config") {
		t.Error("in a bare repository the names count from the pattern's own directory on")
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
