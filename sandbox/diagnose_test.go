package sandbox

import (
	"errors"
	"strings"
	"testing"
)

func TestDiagnose(t *testing.T) {
	for _, tt := range []struct {
		name, said    string
		facts         facts
		feature, hint string
	}{
		{"Ubuntu 24.04", "bwrap: setting up uid map: Permission denied", facts{apparmorUserns: "1\n"}, "user namespaces", "apparmor_parser"},
		{"Ubuntu 24.04, with a profile for userns only", "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", facts{apparmorUserns: "1\n"}, "user namespaces", "apparmor_parser"},
		{"Debian hardened", "bwrap: No permissions to create new namespace", facts{usernsClone: "0\n"}, "user namespaces", "kernel.unprivileged_userns_clone=1"},
		{"no user namespaces left", "bwrap: Creating new namespace failed: No space left on device", facts{maxUserns: "0"}, "user namespaces", "max_user_namespaces"},
		{"Docker", "bwrap: Can't mount proc on /newroot/proc: Operation not permitted", facts{container: true, apparmorUserns: "0"}, "namespaces inside a container", "docker run"},
		{"GitHub runner", "bwrap: setting up uid map: Permission denied", facts{apparmorUserns: "1", github: true}, "user namespaces", "apparmor_restrict_unprivileged_userns=0"},
		{"Arch hardened", "bwrap: No permissions to create new namespace", facts{usernsClone: "0"}, "user namespaces", "unprivileged_userns_clone=1"},
		{"Fedora without user namespaces", "bwrap: Creating new namespace failed: No space left on device", facts{maxUserns: "0"}, "user namespaces", "max_user_namespaces"},
		{"WSL 1", "bwrap: Creating new namespace failed: Invalid argument", facts{osrelease: "4.4.0-19041-Microsoft"}, "namespaces", "wsl --set-version"},
		{"WSL 2 is Linux", "bwrap: loopback: Operation not permitted", facts{osrelease: "5.15.0-microsoft-standard-WSL2"}, "the sandbox could not be put up", ""},
		{"systemd unit", "bwrap: Creating new namespace failed: Operation not permitted", facts{unit: true}, "namespaces inside a systemd unit", "RestrictNamespaces"},
		{"something else", "bwrap: Can't find source path /gone: No such file or directory", facts{apparmorUserns: "1"}, "the sandbox could not be put up", ""},
	} {
		var refused *RefusedError
		if err := diagnose(errors.New(tt.said), tt.facts); !errors.As(err, &refused) {
			t.Fatalf("%s: not a refusal: %v", tt.name, err)
		}
		if refused.Feature != tt.feature || !strings.Contains(refused.Hint, tt.hint) || tt.hint == "" && refused.Hint != "" {
			t.Errorf("%s: feature %q, hint %q", tt.name, refused.Feature, refused.Hint)
		}
		if !strings.Contains(refused.Error(), strings.TrimPrefix(tt.said, "bwrap: ")) {
			t.Errorf("%s: %q does not say what bwrap said", tt.name, refused.Error())
		}
	}
}

func TestInstallHint(t *testing.T) {
	for _, tt := range []struct{ osRelease, want string }{
		{"ID=debian\n", "sudo apt-get install bubblewrap"},
		{"NAME=Mint\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "sudo apt-get install bubblewrap"},
		{"ID=fedora\n", "sudo dnf install bubblewrap"},
		{"ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\n", "sudo zypper install bubblewrap"},
		{"", "install the package bubblewrap"},
	} {
		if got := installHint(tt.osRelease); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.osRelease, got, tt.want)
		}
	}
}

func TestXDGDirectories(t *testing.T) {
	for _, tt := range []struct {
		env  []string
		want string
	}{
		{[]string{"HOME=/h"}, "/h/.config/gosrt"},
		{[]string{"HOME=/h", "XDG_CONFIG_HOME=/x"}, "/x/gosrt"},
		{[]string{"HOME=/h", "XDG_CONFIG_HOME=rel"}, "/h/.config/gosrt"},
		{[]string{"HOME=/a", "HOME=/b"}, "/b/.config/gosrt"},
		{[]string{"HOME="}, ""},
		{nil, ""},
	} {
		if got := ConfigDir(tt.env); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.env, got, tt.want)
		}
	}
}
