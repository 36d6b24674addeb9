package sandbox

import "github.com/gosrt/gosrt/policy"

// support says what this host can enforce beyond the minimum. Whether
// connections can be captured is known once the sandbox is up, because bwrap may
// be allowed what a probe is not: see serveNetwork.
func support() policy.Support { return policy.Support{Transparent: true} }
