package policy

import "testing"

func TestDecideSocket(t *testing.T) {
	plan := &Plan{Files: Files{{Kind: AllowWrite, Path: "/home/u/p", Exists: true, Dir: true}}}
	rule := func(path string, dir bool) FileRule {
		return FileRule{Kind: Socket, Path: path, Dir: dir, Rule: PathRule{Text: path, Path: path}}
	}
	plan.Sockets = []FileRule{rule("/run/a.sock", false), rule("/run/d", true), rule("/home/u/p/s", false)}
	for path, want := range map[string]Verdict{
		"/run/a.sock": Allow, "/run/a.sock2": Deny, "/run/d/x": Allow, "/run/dd": Deny, "/home/u/p/s": Deny, "/run/docker.sock": Deny,
	} {
		if d := plan.DecideSocket(path); d.Verdict != want {
			t.Errorf("%s: %v (%s)", path, d.Verdict, d.Reason)
		}
	}
}

func TestSocketWeaknesses(t *testing.T) {
	for path, loud := range map[string]bool{"/run/docker.sock": true, "/run/user/1000/bus": true, "/run/libvirt/libvirt-sock": true,
		"/run/systemd/private": true, "/run/user/1000/podman/podman.sock": true, "/run/postgresql/.s.PGSQL.5432": false, "/run/user/1000/gnupg/S.gpg-agent": false} {
		if got := len(socketWeaknesses([]FileRule{{Path: path}})) > 0; got != loud {
			t.Errorf("%s: loud %t", path, got)
		}
	}
}
