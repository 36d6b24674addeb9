package policy_test

import (
	"flag"
	"testing"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/policy/policytest"
)

var update = flag.Bool("update", false, "rewrite the sections of testdata/compile that differ")

func TestCompileCases(t *testing.T) {
	for _, c := range policytest.Cases(t, "../testdata/compile") {
		t.Run(c.Name, func(t *testing.T) {
			plan, err := policy.Compile(c.Policy, c.Host, c.Command)
			refusal, description := "", ""
			if err != nil {
				refusal = err.Error() + "\n"
			} else {
				description = policytest.Describe(plan)
			}
			c.Check(t, "error", refusal, *update)
			c.Check(t, "plan", description, *update)
		})
	}
}
