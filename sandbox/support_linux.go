package sandbox

import (
	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux/stage"
)

// support says what this host can enforce beyond the minimum. Whether
// connections can be captured is known once the sandbox is up, because bwrap may
// be allowed what a probe is not: see serveNetwork.
func support() policy.Support {
	s := policy.Support{Transparent: true, Guard: true, Landlock: stage.LandlockSupported()}
	if err := stage.TryNotify(); err != nil {
		s.Guard, s.Why = false, map[string]string{"Guard": err.Error()}
	}
	return s
}
