package sandbox

import "context"

// Check is one thing that doctor looks at.
type Check struct {
	Name    string      `json:"name"`
	Status  CheckStatus `json:"status"`
	Message string      `json:"message"`
	Hint    string      `json:"hint,omitempty"` // the next step; empty when all is well
}

// CheckStatus grades a check. An error means that a default run would be
// refused or not be enforced in full; a warning, that a feature is missing.
type CheckStatus string

const (
	CheckOK      CheckStatus = "ok"
	CheckWarning CheckStatus = "warning"
	CheckError   CheckStatus = "error"
)

// Probe finds out what this host can enforce, by trying to get out of a throw-away
// sandbox. Inside is the command that tries: a program that does nothing but call
// ProbeInside. Whatever is made for it is removed.
func Probe(ctx context.Context, inside []string) []Check { return probeBackend(ctx, inside) }
