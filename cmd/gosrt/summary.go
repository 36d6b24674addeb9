package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gosrt/gosrt/internal/report"
	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox"
)

const (
	// maxTarget bounds a path or host that came from inside, in bytes.
	maxTarget = 200
	// maxNames bounds the list of grants or variables on one line.
	maxNames = 12
)

// environment names what differs from the caller's environment, in one line: it
// is the first thing to know when a command misses a variable.
func (a *app) environment(plan *policy.Plan) {
	if plan == nil {
		return
	}
	var removed, set []string
	for _, c := range plan.EnvChanges {
		if c.Op == policy.EnvSet {
			set = append(set, c.Name)
		} else {
			removed = append(removed, c.Name)
		}
	}
	maxRemoved, maxSet := maxNames, 3 // what is set is mostly the same each time
	if a.ui.verbose {
		maxRemoved, maxSet = len(removed), len(set)
	}
	var parts []string
	if len(removed) > 0 {
		parts = append(parts, "removed "+enumerate(removed, maxRemoved))
	}
	if len(set) > 0 {
		parts = append(parts, "set "+enumerate(set, maxSet))
	}
	if len(parts) > 0 {
		a.ui.linef(kindNote, "environment: %s", strings.Join(parts, "; "))
	}
}

// enumerate is "a, b and 3 more".
func enumerate(names []string, limit int) string {
	if len(names) <= limit {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
}

// untrustedLine names the grants of a project file that were not applied.
func untrustedLine(grants []string) string {
	quoted := slices.Clone(grants)
	for i, g := range quoted {
		quoted[i] = report.Cut(printable(g), maxTarget)
	}
	return "the project file is not trusted; not applied: " + enumerate(quoted, maxNames)
}

// refusal is an error of a run that did not happen, with what to do about it.
type refusal struct {
	err  error
	hint string
}

func (r refusal) Error() string    { return r.err.Error() + "; the command did not run" }
func (r refusal) HintText() string { return r.hint }
func (r refusal) Unwrap() error    { return r.err }

// refused turns what the library returned instead of a run into two lines.
func refused(err error) error {
	var r *sandbox.RefusedError
	if errors.As(err, &r) {
		return refusal{err, r.Hint}
	}
	return refusal{err, ""}
}
