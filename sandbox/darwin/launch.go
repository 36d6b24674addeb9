package darwin

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// sandboxExec is absolute, so that nothing on PATH can stand in for it. It is
// marked deprecated and is shipped up to macOS 26.
const sandboxExec = "/usr/bin/sandbox-exec"

// Exit statuses of sandbox-exec itself (sysexits.h).
const (
	exitProfile = 65 // EX_DATAERR: the profile does not compile
	exitApply   = 71 // EX_OSERR: it could not be applied, or the program not executed
)

// SetupError says that the limits could not be put up. The command did not run.
type SetupError struct {
	Stage string // "profile", "sandbox-exec", "supervisor"
	Text  string // one or more lines as the failing part said them
}

func (e *SetupError) Error() string { return e.Stage + ": " + e.Text }

// launchArgs run argv under the profile in file. "--" ends the options, so that
// a command is never taken for one.
func launchArgs(file string, argv []string) []string {
	return append([]string{sandboxExec, "-f", file, "--"}, argv...)
}

// preflightFault reads the end of a trial run of a program that does nothing.
// Only afterwards is the status of sandbox-exec the command's own: the same
// profile has compiled and was applied.
func preflightFault(code int, stderr string) error {
	said := strings.TrimSpace(stderr)
	switch {
	case code == exitProfile:
		return &SetupError{"profile", "this macOS does not compile it: " + said}
	case strings.Contains(said, "sandbox_apply"):
		return &SetupError{"sandbox-exec", said + " (inside another sandbox no second one can be applied)"}
	case code == exitApply && !strings.Contains(said, "execvp"):
		return &SetupError{"sandbox-exec", said}
	}
	// Zero; or the trial program itself is hidden by the policy, which says that
	// the limits are up.
	return nil
}

// executable finds the command as execvp(3) would, in the command's own PATH.
// It is found before the start because sandbox-exec answers a missing command
// with a status that the command could have as well. resolve follows links.
func executable(p *policy.Plan, resolve func(string) (real string, runnable bool, err error)) (file string, s Status) {
	name := p.Argv[0]
	candidates := []string{name}
	if !strings.Contains(name, "/") {
		candidates = nil
		for _, dir := range strings.Split(getEnv(p.Env, "PATH"), ":") {
			candidates = append(candidates, path.Join(absolute(dir, p.Dir), name))
		}
	}
	s = Status{Missing: true, Detail: fmt.Sprintf("%q: not found", name)}
	for _, c := range candidates {
		full := absolute(c, p.Dir)
		real, runnable, err := resolve(full)
		switch {
		case errors.Is(err, errNotThere):
		case err != nil || !runnable:
			s = Status{NotExecutable: true, Detail: fmt.Sprintf("%q: not an executable file", full)}
		case p.DecideRead(real).Verdict != policy.Allow:
			s = Status{NotExecutable: true, Detail: fmt.Sprintf("%q: hidden by the policy", full)}
		default:
			return full, Status{}
		}
	}
	return "", s
}

// errNotThere is what resolve answers for a path that does not exist.
var errNotThere = errors.New("not there")

func absolute(p, dir string) string {
	if strings.HasPrefix(p, "/") {
		return p
	}
	return path.Join(dir, p)
}
