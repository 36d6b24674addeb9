package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox"
)

const (
	// maxSummary bounds the lines of a summary, unless --verbose asks for all.
	maxSummary = 12
	// maxTarget bounds a path or host that came from inside, in bytes.
	maxTarget = 200
	// maxNames bounds the list of grants or variables on one line.
	maxNames = 12
)

// denials prints what was refused, each with the narrowest flag that opens it.
func (a *app) denials(list []policy.Violation, dropped int) {
	lines := 0
	for i, v := range list {
		if lines+3 > maxSummary && !a.ui.verbose {
			a.ui.linef(kindDenied, "and %d more; --verbose lists them", len(list)-i+dropped)
			return
		}
		a.ui.linef(kindDenied, "%s", denialLine(v))
		lines++
		if v.Hint != "" {
			a.ui.linef(kindHint, "%s", v.Hint)
			lines++
		}
	}
	if dropped > 0 {
		a.ui.linef(kindDenied, "and %d more, not kept", dropped)
	}
}

// denialLine is "write ~/.zshrc (node, 3 times): protected path".
func denialLine(v policy.Violation) string {
	var about []string
	if v.Program != "" {
		about = append(about, cut(v.Program, maxTarget))
	}
	if v.Count > 1 {
		about = append(about, fmt.Sprintf("%d times", v.Count))
	}
	if v.Inferred {
		about = append(about, "inferred")
	}
	line := v.Kind + " " + cut(v.Target, maxTarget)
	if len(about) > 0 {
		line += " (" + strings.Join(about, ", ") + ")"
	}
	line += ": " + v.Reason
	if v.Rule != "" {
		line += " (" + v.Rule + originSuffix(v.Origin) + ")"
	}
	return line
}

func originSuffix(origin string) string {
	if origin == "" {
		return ""
	}
	return ", " + origin
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return s[:limit] + "…"
}

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
		quoted[i] = cut(printable(g), maxTarget)
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
