package sandbox

import (
	"fmt"
	"runtime"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux"
)

// askSyscall answers from the filter's table. A call that is refused only with
// some arguments is allowed, with a note for each case.
func askSyscall(p *policy.Plan, name string, _ func(string) string) (Answer, error) {
	arch, err := linux.ArchOf(runtime.GOARCH)
	if err != nil {
		return Answer{}, err
	}
	if _, known := linux.SyscallNumber(arch, name); !known {
		return Answer{}, fmt.Errorf("system call %q: %s has none of that name", name, arch.Name)
	}
	a := Answer{Verdict: policy.Allow.String(), Reason: "the filter lets it through"}
	for _, row := range linux.Describe() {
		if row.Call != name || row.Action != linux.Refuse && row.Action != linux.Kill {
			continue
		}
		if row.Condition() == "" {
			return Answer{Verdict: policy.Deny.String(), Rule: "filter " + name, Origin: "built-in",
				Reason: fmt.Sprintf("%s: %s", row.Errno, row.Reason)}, nil
		}
		a.Reason = "the filter lets it through, with exceptions"
		a.Notes = append(a.Notes, fmt.Sprintf("refused with %s when %s: %s", row.Errno, row.Condition(), row.Reason))
	}
	return a, nil
}
