package report

import (
	"fmt"
	"testing"

	"github.com/gosrt/gosrt/policy"
)

// BenchmarkDenials is what one denial costs gosrt beside the guard's work: each
// names another place, so that nothing is counted together.
func BenchmarkDenials(b *testing.B) {
	l := NewLog("run", NewRedactor(func() []string { return []string{"a-secret-of-some-length", "another-secret-of-some-length"} }))
	w := &Writer{}
	w.Start(Start{})
	targets := make([]string, b.N)
	for i := range targets {
		targets[i] = fmt.Sprint("/var/tmp/some/where/no-", i)
	}
	for _, target := range targets {
		v := policy.Violation{Kind: "write", Operation: "openat", Target: target, Program: "deny",
			Reason: "no allowWrite entry covers it", Hint: "--allow-write " + target}
		if show := l.Add(v); show != nil {
			w.Violation(show)
		}
	}
}
