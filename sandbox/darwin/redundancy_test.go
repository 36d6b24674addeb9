package darwin

import (
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gosrt/gosrt/policy"
)

// TestEveryRuleCounts drops each rule, and each filter of a rule, and finds a
// request that is then answered otherwise: no rule is dead, none is repeated.
// The pessimist's macOS counts too, because the exact-name denials are for it.
func TestEveryRuleCounts(t *testing.T) {
	plans := map[string]*policy.Plan{"default": defaultPlan(t)}
	for name, plan := range goldens {
		plans[name] = plan()
	}
	for name, plan := range plans {
		t.Run(name, func(t *testing.T) {
			r, err := Profile(plan, Options{Tag: "00ff", TTYs: []string{"/dev/ttys004"}})
			if err != nil {
				t.Fatal(err)
			}
			exprs, err := readSBPL(r.Text)
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range exprs[1:] {
				lesses := dropped(e)
				if name == "default" {
					lesses = lesses[:1] // whole rules: its patterns and its own repository overlap
				}
				for _, less := range lesses {
					rest := slices.Concat(exprs[1:i+1], less, exprs[i+2:])
					if !differs(t, exprs[1:], rest, requestsOf(e)) {
						t.Errorf("no verdict changes without it: %s\nleft: %v", show(e), each(show, less))
					}
				}
			}
		})
	}
}

// dropped lists what remains of a rule when it goes, or when one filter goes.
func dropped(e sexp) [][]sexp {
	out := [][]sexp{nil}
	if e.head() == "if" {
		return out
	}
	var filters []int
	for i, part := range e.list {
		if part.isList && part.head() != "with" {
			filters = append(filters, i)
		}
	}
	if len(filters) < 2 {
		return out
	}
	for _, i := range filters {
		less := sexp{isList: true, list: slices.Delete(slices.Clone(e.list), i, i+1)}
		out = append(out, []sexp{less})
	}
	return out
}

func differs(t *testing.T, before, after []sexp, probes []request) bool {
	t.Helper()
	for _, pessimist := range []bool{false, true} {
		a, b := profileOf(t, before, pessimist), profileOf(t, after, pessimist)
		for _, q := range probes {
			x, y := a.decide(q), b.decide(q)
			if x.allow != y.allow || x.message != y.message || x.silent != y.silent {
				return true
			}
		}
	}
	return false
}

func profileOf(t *testing.T, exprs []sexp, pessimist bool) *sandboxProfile {
	t.Helper()
	p := &sandboxProfile{version: 26, pessimist: pessimist}
	for _, e := range exprs {
		if err := p.form(e); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// requestsOf are requests that the rule's own filters speak of.
func requestsOf(e sexp) []request {
	if e.head() == "if" {
		e = e.list[2]
	}
	var out []request
	for _, part := range e.list[1:] {
		if part.isList || part.str {
			continue
		}
		for op := range sbplOps {
			if under(op, part.atom) {
				out = append(out, requestsFor(op, e)...)
			}
		}
	}
	return out
}

// under says whether a leaf operation lies at or beneath another.
func under(leaf, ancestor string) bool {
	if strings.HasSuffix(leaf, "*") || leaf == "default" {
		return false
	}
	for op := leaf; op != "-"; op = sbplOps[op].parent {
		if op == ancestor {
			return true
		}
	}
	return false
}

// meetings are names that two patterns of a golden plan match at one place,
// which no sample of either shows.
var meetings = []string{proj + "/pub-1.pem", proj + "/certs/ca.pem/pub-1.pem"}

func requestsFor(op string, e sexp) []request {
	qs := []request{{op: op, name: "other", path: "/zz/other"}, {op: op}}
	for _, p := range meetings {
		qs = append(qs, request{op: op, path: p})
	}
	var visit func(s sexp)
	visit = func(s sexp) {
		if !s.isList {
			return
		}
		if len(s.list) > 1 {
			qs = append(qs, witnesses(op, s)...)
		}
		for _, part := range s.list {
			visit(part)
		}
	}
	visit(e)
	return qs
}

// witnesses are requests that one filter matches.
func witnesses(op string, f sexp) []request {
	var out []request
	path := func(p string) {
		for _, v := range strings.Fields(sbplConstants["vnode-type"]) {
			out = append(out, request{op: op, path: p, vnode: v})
		}
	}
	arg := f.list[1].atom
	switch f.head() {
	case "literal":
		path(arg)
	case "subpath":
		path(arg)
		path(strings.TrimSuffix(arg, "/") + "/x")
	case "regex":
		for _, n := range []int{0, 1, 2, 3} {
			path(sample(arg, n))
		}
	case "extension":
		out = append(out, request{op: op, path: "/dev/ttys9", extension: arg})
	case "vnode-type":
		path("/zz/other")
	case "target":
		out = append(out, request{op: op, target: arg})
	case "global-name", "sysctl-name":
		out = append(out, request{op: op, name: arg})
	case "global-name-prefix", "sysctl-name-prefix":
		out = append(out, request{op: op, name: arg + "x"})
	case "socket-domain":
		out = append(out, request{op: op, domain: arg, number: 2})
	case "local", "remote":
		_, port, _ := strings.Cut(f.list[2].atom, ":")
		n, err := strconv.Atoi(port)
		if err != nil {
			n = 4242
		}
		out = append(out, request{op: op, proto: "tcp", host: "127.0.0.1", port: n})
	case "require-all":
		for _, q := range slices.Concat(requestsFor(op, f.list[1]), out) {
			for _, v := range strings.Fields(sbplConstants["vnode-type"]) {
				q.vnode = v
				out = append(out, q)
			}
		}
	}
	return out
}

// sample is a string that a regex matches, with n turns of each repetition.
func sample(re string, n int) string {
	parsed, err := syntax.Parse(re, syntax.Perl)
	if err != nil {
		panic(err)
	}
	return sampleOf(parsed, n)
}

func sampleOf(re *syntax.Regexp, n int) string {
	var b strings.Builder
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return strings.ToLower(string(re.Rune))
		}
		return string(re.Rune)
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for _, r := range "qaz09" {
				if re.Rune[i] <= r && r <= re.Rune[i+1] {
					return string(r)
				}
			}
		}
		return string(re.Rune[0])
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "q"
	case syntax.OpAlternate:
		return sampleOf(re.Sub[min(n, len(re.Sub)-1)], n)
	case syntax.OpStar, syntax.OpQuest:
		for range n {
			b.WriteString(sampleOf(re.Sub[0], n))
		}
		return b.String()
	}
	for _, sub := range re.Sub {
		b.WriteString(sampleOf(sub, n))
	}
	return b.String()
}

func show(e sexp) string {
	switch {
	case e.isList:
		return "(" + strings.Join(each(show, e.list), " ") + ")"
	case e.str:
		return quote(e.atom)
	}
	return e.atom
}
