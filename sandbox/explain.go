package sandbox

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// Answer says what a plan decides about one thing, and why.
type Answer struct {
	About  string `json:"about"`  // "read", "connect", …: one of Questions
	Target string `json:"target"` // as asked
	// Resolved is the path behind links, or the canonical destination; empty when
	// that is Target itself.
	Resolved string `json:"resolved,omitempty"`
	Verdict  string `json:"verdict"` // "allow", "deny" or "ask"
	Rule     string `json:"rule,omitempty"`
	Origin   string `json:"origin,omitempty"`
	Reason   string `json:"reason"`
	// Hint is the narrowest flag that would allow it; empty when nothing does.
	Hint string `json:"hint,omitempty"`
	// Notes are what else holds for it, each one line.
	Notes []string `json:"notes,omitempty"`
}

// question is one kind of thing that can be asked about.
type question struct {
	about  string
	answer func(p *policy.Plan, target string, at func(path string) string) (Answer, error)
}

var questions = []question{
	{"read", askFile((*policy.Plan).DecideRead)},
	{"write", askFile((*policy.Plan).DecideWrite)},
	{"exec", askFile((*policy.Plan).DecideRead)},
	{"socket", askFile((*policy.Plan).DecideSocket)},
	{"connect", askConnect},
	{"env", askVariable},
	{"syscall", askSyscall},
}

// Questions lists what Explain answers about.
func Questions() []string {
	var names []string
	for _, q := range questions {
		names = append(names, q.about)
	}
	return names
}

// Explain answers with the code that enforces. Relative paths join the plan's
// directory.
func Explain(p *policy.Plan, about, target string) (Answer, error) {
	return explain(p, about, target, func(path string) string { return policy.Resolve(osFS{}, path) })
}

// explain finds a path's place with at.
func explain(p *policy.Plan, about, target string, at func(string) string) (Answer, error) {
	for _, q := range questions {
		if q.about != about {
			continue
		}
		if target == "" {
			return Answer{}, fmt.Errorf("%s: nothing named", about)
		}
		a, err := q.answer(p, target, at)
		a.About, a.Target = about, target
		if a.Resolved == target {
			a.Resolved = ""
		}
		return a, err
	}
	return Answer{}, fmt.Errorf("%q: not one of %s", about, strings.Join(Questions(), ", "))
}

func answerOf(d policy.Decision) Answer {
	a := Answer{Verdict: d.Verdict.String(), Rule: d.Rule, Reason: d.Reason, Hint: d.Hint}
	if d.Rule != "" {
		a.Origin = d.Origin.String()
	}
	return a
}

func askFile(decide func(*policy.Plan, string) policy.Decision) func(*policy.Plan, string, func(string) string) (Answer, error) {
	return func(p *policy.Plan, target string, at func(string) string) (Answer, error) {
		if strings.Contains(target, "\x00") {
			return Answer{}, fmt.Errorf("path %q: holds a NUL byte", target)
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(p.Dir, target)
		}
		path := at(target)
		a := answerOf(decide(p, path))
		a.Resolved = path
		return a, nil
	}
}

// webPort is what a destination without a port means.
const webPort = ":443"

func askConnect(p *policy.Plan, target string, _ func(string) string) (Answer, error) {
	h, err := policy.ParseHostPort(target)
	if err != nil {
		withPort, second := policy.ParseHostPort(target + webPort)
		if second != nil {
			return Answer{}, err
		}
		h = withPort
	}
	d := p.Network.Decide(h)
	a := answerOf(d)
	a.Resolved = h.String()
	if d.Verdict == policy.Allow && h.Host != "" {
		a.Notes = append(a.Notes, "each address that the name resolves to is judged too: loopback, metadata and other closed classes are refused")
	}
	return a, nil
}

func askVariable(p *policy.Plan, name string, _ func(string) string) (Answer, error) {
	if strings.ContainsAny(name, "=\x00") {
		return Answer{}, fmt.Errorf("variable %q: not a name", name)
	}
	for _, c := range p.EnvChanges {
		if c.Name != name {
			continue
		}
		if c.Op == policy.EnvSet {
			return Answer{Verdict: policy.Allow.String(), Reason: "set: " + c.Reason}, nil
		}
		return Answer{Verdict: policy.Deny.String(), Reason: "removed: " + c.Reason, Hint: "--env " + name}, nil
	}
	for _, kv := range p.Env {
		if strings.HasPrefix(kv, name+"=") {
			return Answer{Verdict: policy.Allow.String(), Reason: "passed on as it is"}, nil
		}
	}
	return Answer{Verdict: policy.Deny.String(), Reason: "not set outside either", Hint: "--env " + name + "=VALUE"}, nil
}
