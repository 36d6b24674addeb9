package sandbox

import "github.com/gosrt/gosrt/policy"

// support says what this host can enforce beyond the minimum.
func support() policy.Support { return policy.Support{} }
