package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux"
	"github.com/gosrt/gosrt/sandbox/linux/stage"
)

func startBackend(bwrap string, b backendConfig) (running, error) {
	// The directory counts, not the file: what the policy names is protected
	// in this run, but an earlier one may have planted it.
	path, err := linux.FindBwrap(bwrap, func(p string) bool {
		return b.plan.DecideWrite(filepath.Dir(p)).Verdict == policy.Allow
	})
	if err != nil {
		return running{}, refusedBwrap(err)
	}
	published, err := listenPublished(b.plan.Network.Publish)
	if err != nil {
		return running{}, err
	}
	guard, err := newGuard(b)
	if err != nil {
		closePublished(published)
		return running{}, err
	}
	var network *linux.Network
	p, err := linux.Start(linux.Config{
		Plan: b.plan, Bwrap: path, Stdin: b.stdin, Stdout: b.stdout, Stderr: b.stderr,
		OnNetwork: func(n *linux.Network) error {
			network = n
			guard.UseNetwork(n)
			serveNetwork(b, n)
			return nil
		},
		OnNotify: guard.Listen(),
		OnStop:   b.onStop,
		Grace:    b.grace,
	})
	if err != nil {
		guard.Close()
		guard.Settle()
		closePublished(published)
		return running{}, diagnose(err, hostFacts())
	}
	publish(b, published, network)
	return running{
		wait: func() Result {
			r := resultOf(p.Wait())
			guard.Close()
			for _, remark := range guard.Settle() {
				r.Remarks = append(r.Remarks, fmt.Sprintf("%q: %s", remark.Path, remark.Text))
			}
			return r
		},
		signal:     p.Signal,
		kill:       p.Kill,
		foreground: p.Foreground,
	}, nil
}

func resultOf(s stage.Status) Result {
	switch {
	case s.Missing:
		return Result{Outcome: NotFound, Status: StatusNotFound, Detail: s.Detail}
	case s.NotExecutable:
		return Result{Outcome: NotExecutable, Status: StatusNotExecutable, Detail: s.Detail}
	case s.Signal != 0:
		return Result{Outcome: Signaled, Status: StatusSignal + int(s.Signal), Signal: s.Signal}
	}
	return Result{Outcome: Exited, Status: s.Code}
}

func refusedBwrap(err error) error {
	refused := &RefusedError{Feature: "bubblewrap", Got: err.Error(), Err: err}
	if errors.Is(err, linux.ErrNoBwrap) {
		refused.Got = "not found in /usr/bin, /bin or /usr/local/bin"
		refused.Hint = installHint(osRelease())
	}
	return refused
}

func osRelease() string {
	data, _ := os.ReadFile("/etc/os-release")
	return string(data)
}

func hostFacts() facts {
	read := func(path string) string {
		data, _ := os.ReadFile(path)
		return string(data)
	}
	return facts{
		apparmorUserns: read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
		usernsClone:    read("/proc/sys/kernel/unprivileged_userns_clone"),
		maxUserns:      read("/proc/sys/user/max_user_namespaces"),
		osrelease:      read("/proc/sys/kernel/osrelease"),
		container:      inContainer(),
		unit:           os.Getenv("INVOCATION_ID") != "" && os.Getenv("XDG_SESSION_ID") == "", // systemd.exec(5)
		github:         os.Getenv("GITHUB_ACTIONS") == "true",
	}
}

func inContainer() bool {
	for _, path := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}
