package darwin

import (
	"slices"
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// Run is what one run has for itself.
type Run struct {
	// TmpDir is the private temporary directory, absolute and canonical. It is
	// writable, and Unix sockets in it are the command's own.
	TmpDir string
	// Hidden is a directory that the command must not read: it holds the
	// profile, and with it the tag that marks genuine denials.
	Hidden string
}

// Prepare returns the plan with the run's own places and with the variables that
// macOS needs. The given plan stays as it is.
func Prepare(p *policy.Plan, r Run) *policy.Plan {
	out := *p
	out.Files = slices.Clone(p.Files)
	own := func(kind policy.FileKind, path, reason string) {
		out.Files = append(out.Files, policy.FileRule{Kind: kind, Path: path, Exists: true, Dir: true, Final: true,
			Rule: policy.PathRule{Text: path, Path: path, Group: "run", Reason: reason}})
	}
	if r.TmpDir != "" {
		out.TmpDir = r.TmpDir
		own(policy.AllowRead, r.TmpDir, "this run's temporary directory")
		own(policy.AllowWrite, r.TmpDir, "this run's temporary directory")
	}
	if r.Hidden != "" {
		own(policy.DenyRead, r.Hidden, "this run's profile")
	}
	out.Files = append(out.Files, spreadPatterns(out.Files)...)
	out.Env = environment(p.Env, r.TmpDir, p.HTTPPort != 0)
	return &out
}

// spreadPatterns repeats the denied patterns of each write root at the run's own
// roots. All of them lie on one volume, so a directory moves from one to the
// other: a pattern must hold at both ends, or it holds at neither.
func spreadPatterns(files policy.Files) policy.Files {
	var out policy.Files
	for _, root := range files {
		if root.Kind != policy.AllowWrite || root.Rule.Group != "run" {
			continue
		}
		seen := map[string]bool{}
		for _, r := range files {
			tail := patternTail(r, files)
			if tail == "" || seen[string(r.Kind)+tail] {
				continue
			}
			seen[string(r.Kind)+tail] = true
			r.Final = r.Final || r.Kind == policy.DenyRead // against the root's own final permission
			r.Path = escapePattern(root.Path) + "/" + tail
			r.Spelled = ""
			out = append(out, r)
		}
	}
	return out
}

// patternTail is what follows the write root in a denied pattern that starts
// there; empty for any other rule.
func patternTail(r policy.FileRule, files policy.Files) string {
	if !r.Pattern || r.Kind == policy.AllowRead || r.Kind == policy.AllowWrite {
		return ""
	}
	for _, root := range files {
		if tail, ok := strings.CutPrefix(r.Path, escapePattern(root.Path)+"/"); ok && root.Kind == policy.AllowWrite && root.Rule.Group != "run" {
			return tail
		}
	}
	return ""
}

func escapePattern(p string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(strings.TrimSuffix(p, "/"))
}

// environment sets what macOS programs need beside what the plan set already:
// the temporary directory, zsh's own name for it (here documents), and for
// Java, whose sockets are IPv6 with mapped addresses that "localhost" in a
// profile does not cover, a preference for IPv4.
func environment(env []string, tmp string, proxied bool) []string {
	out := slices.Clone(env)
	if tmp != "" {
		for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
			out = setEnv(out, name, tmp)
		}
		out = setEnv(out, "TMPPREFIX", tmp+"/zsh")
	}
	const java, ipv4 = "JAVA_TOOL_OPTIONS", "-Djava.net.preferIPv4Stack=true"
	if old := getEnv(out, java); proxied && !strings.Contains(old, "java.net.preferIPv4Stack") {
		out = setEnv(out, java, strings.TrimSpace(old+" "+ipv4))
	}
	return out
}

func getEnv(env []string, name string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

func setEnv(env []string, name, value string) []string {
	kept := slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, name+"=") })
	return append(kept, name+"="+value)
}
