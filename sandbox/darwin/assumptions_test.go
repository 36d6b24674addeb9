package darwin

import (
	_ "embed"
	"strings"
	"testing"
)

// The evaluator rests on what others measured, read or inferred about macOS.
// Each such assumption is a row: rules, calls before and inside the sandbox, and
// what the last call answers. Here the evaluator runs them; on a Mac, "go test
// -tags mac" runs the same rows on the kernel, and each can be falsified alone.
//
// In a row $D is a fresh directory, canonical; $T the same through /tmp; $R the
// same as a regex; $P a port with a listener, $Q one without.

//go:embed testdata/assumptions.tsv
var assumptionTable string

type assumption struct {
	id, certainty, source, rules, before, steps, expect, claim string
}

// assumptionBase lets the probe itself start.
const assumptionBase = `(version 1)
(deny default)
(allow process-exec* process-fork)
(allow file-read*)
(allow sysctl-read)
(allow mach-lookup)
(allow signal process-info* (target self))
`

func assumptions(t *testing.T) []assumption {
	t.Helper()
	var out []assumption
	for i, line := range strings.Split(strings.TrimSpace(assumptionTable), "\n") {
		f := strings.Split(line, "\t")
		if len(f) != 8 {
			t.Fatalf("line %d: %d columns", i+1, len(f))
		}
		if i > 0 {
			out = append(out, assumption{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]})
		}
	}
	return out
}

// fill replaces the variables of a row.
func fill(text, dir, port, free string) string {
	return strings.NewReplacer("$D", dir, "$T", strings.TrimPrefix(dir, "/private"),
		"$R", strings.ReplaceAll(literalRegex(dir), `\`, `\\`), "$P", port, "$Q", free).Replace(text)
}

func TestAssumptions(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range assumptions(t) {
		t.Run(a.id, func(t *testing.T) {
			if seen[a.id] || !strings.Contains("measured source dump user inferred", a.certainty) || a.source == "" || a.claim == "" {
				t.Errorf("row %q: repeated, or without certainty, source or claim", a.id)
			}
			seen[a.id] = true
			got := runAssumption(t, a)
			if got == ok {
				got = "ok"
			}
			if got != a.expect {
				t.Errorf("%s: %s answered %s, want %s", a.claim, a.steps, got, a.expect)
			}
		})
	}
}

func runAssumption(t *testing.T, a assumption) string {
	t.Helper()
	const dir = "/private/tmp/d"
	m := newMac()
	m.mkdirAll(dir)
	m.put("/bin/echo", "program")
	m.listening[3128] = true
	for _, step := range steps(fill(a.before, dir, "3128", "3129")) {
		if e := m.run(step); e != ok {
			t.Fatalf("before: %s: %s", step, e)
		}
	}
	profile, err := compileSBPL(assumptionBase+fill(a.rules, dir, "3128", "3129"), 15)
	if err != nil {
		t.Fatal(err)
	}
	m.profile = profile
	last := ""
	for _, step := range steps(fill(a.steps, dir, "3128", "3129")) {
		last = m.run(step)
	}
	return last
}

func steps(script string) []string {
	var out []string
	for s := range strings.SplitSeq(script, ";") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
