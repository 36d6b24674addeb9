package sandbox

import "strings"

// facts are the knobs of a Linux host that explain why a namespace was refused,
// as the files under /proc/sys say; empty where the file is missing.
type facts struct {
	apparmorUserns string // kernel.apparmor_restrict_unprivileged_userns
	usernsClone    string // kernel.unprivileged_userns_clone (Debian, Arch hardened)
	maxUserns      string // user.max_user_namespaces
	container      bool
}

// diagnose turns a failed set-up into the refusal with the exact next step.
func diagnose(err error, f facts) error {
	refused := &RefusedError{Feature: "the sandbox could not be put up", Got: firstLine(err.Error()), Err: err}
	switch text := err.Error(); {
	case strings.TrimSpace(f.apparmorUserns) == "1" && aboutNamespaces(text):
		refused.Feature, refused.Need = "user namespaces", "an AppArmor profile that lets bwrap make them (Ubuntu 23.10 and later)"
		refused.Hint = "sudo apt-get install apparmor-profiles && sudo ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict"
	case strings.TrimSpace(f.usernsClone) == "0" && aboutNamespaces(text):
		refused.Feature, refused.Need = "user namespaces", "kernel.unprivileged_userns_clone=1"
		refused.Hint = "sudo sysctl -w kernel.unprivileged_userns_clone=1"
	case strings.TrimSpace(f.maxUserns) == "0" && aboutNamespaces(text):
		refused.Feature, refused.Need = "user namespaces", "user.max_user_namespaces above 0"
		refused.Hint = "sudo sysctl -w user.max_user_namespaces=15000"
	case f.container && aboutNamespaces(text):
		refused.Feature, refused.Need = "namespaces inside a container", "a container that may make them"
		refused.Hint = "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined …"
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
