package sandbox

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/gosrt/gosrt/policy"
)

// explained holds what gosrt explain says of each place beside what the kernel
// must do there, which compare proves: one finds the place behind links with
// policy.Resolve, the other with locate. Rules are those that mounts hold.
func (c *kernelCase) explained(t *rapid.T, plan *policy.Plan, rules policy.Files, wants []expectation) {
	held := *plan
	held.Files = rules
	for i, op := range c.ops {
		if wants[i] == may || !slices.Contains(onePlace, op.Kind) {
			continue
		}
		about := "write"
		if op.Kind == "read" {
			about = "read"
		}
		answer, err := Explain(&held, about, string(op.Path))
		if err != nil || (answer.Verdict == "allow") != (wants[i] == must) {
			t.Fatalf("%v %v, but explained: %+v, %v\n%s", op, wants[i], answer, err, c.dump(plan))
		}
	}
}
