package darwin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// Rule is one numbered deny of a profile: what a violation that carries its
// number goes back to.
type Rule struct {
	// Number is the rule's place among the denies; 0 is the default.
	Number int
	// Why is one clause in plain words ("hard links leave the write roots").
	Why string
	// Entries are the policy entries it was made from. Empty for a rule that
	// every profile has. Several when entries share one rule; the deepest that
	// covers the target is the one that decided.
	Entries []policy.FileRule
}

// rule is one expression of the profile.
type rule struct {
	allow   bool
	ops     []string
	filters []string // any of them; none: every request
	quiet   bool     // known noise: denied without a line in the log
	// optional: not every macOS knows ops[0], and an unknown name fails the
	// whole profile. Only for names whose absence is harmless.
	optional bool
	why      string
	entries  []policy.FileRule
}

func allow(ops ...string) rule { return rule{allow: true, ops: ops} }
func deny(ops ...string) rule  { return rule{ops: ops} }

func (r rule) on(filters ...string) rule {
	r.filters = append(slices.Clip(r.filters), filters...)
	return r
}

func (r rule) because(why string, entries ...policy.FileRule) rule {
	r.why, r.entries = why, entries
	return r
}

// text writes the rule; message is put into the log with each denial.
func (r rule) text(message string) string {
	words := []string{"deny"}
	if r.allow {
		words[0] = "allow"
	}
	words = append(words, r.ops...)
	words = append(words, r.filters...)
	switch {
	case r.allow:
	case r.quiet:
		words = append(words, "(with no-report)")
	case message != "":
		words = append(words, "(with message "+quote(message)+")")
	}
	out := "(" + strings.Join(words, " ") + ")"
	if r.optional {
		return fmt.Sprintf("(if (defined? '%s) %s)", r.ops[0], out)
	}
	return out
}

func literal(p string) string      { return "(literal " + quote(p) + ")" }
func subpath(p string) string      { return "(subpath " + quote(p) + ")" }
func regex(re string) string       { return "(regex " + quote(re) + ")" }
func vnodeType(t string) string    { return "(vnode-type " + t + ")" }
func all(filters ...string) string { return join("require-all", filters) }
func not(filter string) string     { return "(require-not " + filter + ")" }

// oneOf is the filter itself when there is only one.
func oneOf(filters ...string) string { return join("require-any", filters) }

func join(word string, filters []string) string {
	if len(filters) == 1 {
		return filters[0]
	}
	return "(" + word + " " + strings.Join(filters, " ") + ")"
}

// each applies a filter to every value.
func each[T any](filter func(T) string, values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = filter(v)
	}
	return out
}
