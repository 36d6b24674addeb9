package policy_test

import (
	"testing"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/policy/policytest"
)

func defaultCase(tb testing.TB) *policytest.Case {
	for _, c := range policytest.Cases(tb, "../testdata/compile") {
		if c.Name == "default-checkout" {
			return c
		}
	}
	tb.Fatal("no case default-checkout")
	return nil
}

func BenchmarkCompile(b *testing.B) {
	c := defaultCase(b)
	for b.Loop() {
		if _, err := policy.Compile(c.Policy, c.Host, c.Command); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecideWrite is what the guard asks for each monitored call.
func BenchmarkDecideWrite(b *testing.B) {
	c := defaultCase(b)
	plan, err := policy.Compile(c.Policy, c.Host, c.Command)
	if err != nil {
		b.Fatal(err)
	}
	index := plan.Files.Index()
	for b.Loop() {
		if index.DecideWrite("/home/u/p/node_modules/some-package/lib/file.js").Verdict != policy.Allow {
			b.Fatal("denied")
		}
	}
}
