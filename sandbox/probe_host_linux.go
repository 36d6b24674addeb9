package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux/stage"
)

// hostChecks look at what the host offers. Plan is that of the throw-away run;
// nil when there was none.
func hostChecks(plan *policy.Plan) []Check {
	return []Check{
		checkNamespaces(plan != nil, hostFacts()), checkNotify(), checkCapture(plan), checkCgroup(), checkTemp(), checkState(os.Environ()),
	}
}

// checkNamespaces says which knob forbids user namespaces, also where bwrap got
// them another way (a setuid bwrap, an AppArmor profile).
func checkNamespaces(ran bool, f facts) Check {
	const name = "user namespaces"
	knob, fix := f.closedKnob()
	switch {
	case ran && knob == "":
		return Check{Name: name, Status: CheckOK, Message: "allowed"}
	case ran:
		return Check{Name: name, Status: CheckOK, Message: "restricted by " + knob + "; bwrap is let through"}
	case knob == "":
		return Check{Name: name, Status: CheckError, Message: "no knob of this host forbids them" + f.place()}
	}
	return Check{Name: name, Status: CheckError, Message: "forbidden by " + knob, Hint: fix}
}

func checkNotify() Check {
	const name = "seccomp notification"
	if err := stage.TryNotify(); err != nil {
		return Check{Name: name, Status: CheckError, Hint: "a kernel from 5.9 on, and no tracer or container that takes the listener (WSL 2: wsl --update)",
			Message: err.Error() + "; protected names that do not exist yet can be created, and denied writes are not reported"}
	}
	return Check{Name: name, Status: CheckOK, Message: "denied writes are seen and named"}
}

func checkCapture(plan *policy.Plan) Check {
	const name = "transparent egress"
	if plan == nil {
		return Check{Name: name, Status: CheckWarning, Message: "not known without a run"}
	}
	for _, w := range plan.Weaknesses {
		if w.ID == "no-transparent" {
			return Check{Name: name, Status: CheckWarning, Message: w.Text, Hint: "sudo modprobe -a nf_tables nft_redir nft_chain_nat"}
		}
	}
	return Check{Name: name, Status: CheckOK, Message: "programs that ignore proxy variables are held to the policy too"}
}

// checkCgroup looks whether this user may make a group of its own (cgroups(7),
// "Delegation").
func checkCgroup() Check {
	const name = "cgroup delegation"
	own, err := os.ReadFile("/proc/self/cgroup")
	path, unified := strings.CutPrefix(firstLine(string(own)), "0::")
	if err != nil || !unified {
		return Check{Name: name, Status: CheckWarning, Message: "no unified cgroup hierarchy: memory and processes of a run cannot be limited",
			Hint: "boot with systemd.unified_cgroup_hierarchy=1"}
	}
	dir := filepath.Join("/sys/fs/cgroup", path)
	if unix.Access(dir, unix.W_OK) != nil {
		return Check{Name: name, Status: CheckWarning, Message: dir + " is not this user's: memory and processes of a run cannot be limited",
			Hint: "systemd-run --user --scope -p Delegate=yes -- gosrt …"}
	}
	return Check{Name: name, Status: CheckOK, Message: dir}
}

func checkTemp() Check {
	const name = "temp directory"
	dir, err := os.MkdirTemp("", "gosrt-probe-")
	if err != nil {
		return Check{Name: name, Status: CheckWarning, Message: err.Error(), Hint: "export TMPDIR=… to a directory that you may write"}
	}
	os.Remove(dir)
	return Check{Name: name, Status: CheckOK, Message: filepath.Dir(dir)}
}

// checkState refuses a state directory that others may write: what is trusted is
// remembered there.
func checkState(env []string) Check {
	const name = "state directory"
	dir := StateDir(env)
	if dir == "" {
		return Check{Name: name, Status: CheckWarning, Message: "no home directory: nothing is remembered, gosrt trust and gosrt ps do not work", Hint: "export HOME=…"}
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Check{Name: name, Status: CheckOK, Message: dir + " is made when it is needed"}
	case err != nil:
		return Check{Name: name, Status: CheckWarning, Message: err.Error()}
	case info.Mode().Perm()&0o022 != 0:
		return Check{Name: name, Status: CheckError, Message: fmt.Sprintf("%s may be written by others (%v)", dir, info.Mode().Perm()), Hint: "chmod 700 " + dir}
	}
	return Check{Name: name, Status: CheckOK, Message: dir}
}
