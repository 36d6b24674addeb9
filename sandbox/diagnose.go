package sandbox

import "strings"

// facts are the knobs of a Linux host that explain why a namespace was refused,
// as the files under /proc say; empty where the file is missing.
type facts struct {
	apparmorUserns string // kernel.apparmor_restrict_unprivileged_userns
	usernsClone    string // kernel.unprivileged_userns_clone (Debian, Arch hardened)
	maxUserns      string // user.max_user_namespaces
	osrelease      string // kernel.osrelease, which names WSL
	container      bool
	unit           bool // started by systemd, whose units can forbid namespaces
	github         bool // a runner of GitHub Actions
}

const (
	fixAppArmor = "sudo apt-get install apparmor-profiles && sudo ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict"
	fixRunner   = "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
	fixClone    = "sudo sysctl -w kernel.unprivileged_userns_clone=1"
	fixMax      = "sudo sysctl -w user.max_user_namespaces=15000"
	fixDocker   = "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined …"
	fixWSL1     = "wsl --set-version DISTRIBUTION 2"
	fixUnit     = "systemctl edit UNIT: [Service] RestrictNamespaces=no, and SystemCallFilter= without @mount and @privileged taken away"
)

// closedKnob is the setting that forbids user namespaces, and the command that
// opens it; empty when no setting does.
func (f facts) closedKnob() (knob, fix string) {
	is := func(text, value string) bool { return strings.TrimSpace(text) == value }
	switch {
	case is(f.apparmorUserns, "1") && f.github: // a throw-away machine
		return "kernel.apparmor_restrict_unprivileged_userns=1", fixRunner
	case is(f.apparmorUserns, "1"):
		return "kernel.apparmor_restrict_unprivileged_userns=1", fixAppArmor
	case is(f.usernsClone, "0"):
		return "kernel.unprivileged_userns_clone=0", fixClone
	case is(f.maxUserns, "0"):
		return "user.max_user_namespaces=0", fixMax
	}
	return "", ""
}

// wsl1 is the first Windows Subsystem for Linux, which has no Linux kernel: its
// release ends in -Microsoft, that of WSL 2 in -microsoft-standard-WSL2.
func (f facts) wsl1() bool { return strings.Contains(f.osrelease, "-Microsoft") }

// place says where gosrt runs, when that explains something.
func (f facts) place() string {
	switch {
	case f.wsl1():
		return "; this is WSL 1"
	case f.container:
		return "; this is a container"
	case f.unit:
		return "; this is a systemd unit"
	}
	return ""
}

// diagnose turns a failed set-up into the refusal with the exact next step.
func diagnose(err error, f facts) error {
	refused := &RefusedError{Feature: "the sandbox could not be put up", Got: firstLine(err.Error()), Err: err}
	if !aboutNamespaces(err.Error()) {
		return refused
	}
	switch knob, fix := f.closedKnob(); {
	case f.wsl1():
		refused.Feature, refused.Need, refused.Hint = "namespaces", "a Linux kernel, which WSL 1 is not", fixWSL1
	case fix == fixAppArmor:
		refused.Feature, refused.Need, refused.Hint = "user namespaces", "an AppArmor profile that lets bwrap make them (Ubuntu 23.10 and later)", fix
	case knob != "":
		refused.Feature, refused.Need, refused.Hint = "user namespaces", "another setting than "+knob, fix
	case f.container:
		refused.Feature, refused.Need, refused.Hint = "namespaces inside a container", "a container that may make them", fixDocker
	case f.unit:
		refused.Feature, refused.Need, refused.Hint = "namespaces inside a systemd unit", "a unit that may make them", fixUnit
	}
	return refused
}

// aboutNamespaces recognises bwrap's messages about what a host forbids.
func aboutNamespaces(text string) bool {
	for _, part := range []string{"namespace", "uid map", "RTM_NEWADDR", "Operation not permitted", "Permission denied", "No space left"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// installHint is the command that installs bubblewrap on the distribution that
// /etc/os-release describes.
func installHint(osRelease string) string {
	for _, row := range []struct{ id, command string }{
		{"debian", "sudo apt-get install bubblewrap"},
		{"ubuntu", "sudo apt-get install bubblewrap"},
		{"fedora", "sudo dnf install bubblewrap"},
		{"rhel", "sudo dnf install bubblewrap"},
		{"arch", "sudo pacman -S bubblewrap"},
		{"alpine", "sudo apk add bubblewrap"},
		{"suse", "sudo zypper install bubblewrap"},
	} {
		if mentionsID(osRelease, row.id) {
			return row.command
		}
	}
	return "install the package bubblewrap"
}

// mentionsID looks at ID= and ID_LIKE= (os-release(5)).
func mentionsID(osRelease, id string) bool {
	for line := range strings.Lines(osRelease) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if (key == "ID" || key == "ID_LIKE") && strings.Contains(value, id) {
			return true
		}
	}
	return false
}
