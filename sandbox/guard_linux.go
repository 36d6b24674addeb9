package sandbox

import "github.com/gosrt/gosrt/sandbox/linux"

// newGuard prepares the guard of a run; nil where the plan has none.
func newGuard(b backendConfig) (*linux.Guard, error) {
	if !b.plan.Guard {
		return nil, nil
	}
	return linux.NewGuard(linux.GuardConfig{Plan: b.plan, OnViolation: b.violation})
}
