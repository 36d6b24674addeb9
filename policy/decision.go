package policy

import "fmt"

// Verdict is the answer to one request. The zero value denies.
type Verdict int

const (
	Deny Verdict = iota
	Allow
	Ask // nobody decided; an asker may
)

func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	}
	return "deny"
}

// Decision is a verdict with its reason. The zero Decision denies, by default.
type Decision struct {
	Verdict Verdict
	// Rule is the deciding rule as the user wrote it, with its key
	// ("denyRead ~/.ssh"). Empty when no rule matched and the default decided.
	Rule string
	// Origin is where Rule was written; zero when Rule is empty.
	Origin Origin
	// Reason is one clause in plain words: "no allowedDomains entry matches".
	Reason string
	// Hint is the narrowest flag that would allow it ("--allow-domain
	// example.org"). Empty when nothing may open it.
	Hint string
}

func (o Origin) String() string {
	switch {
	case o.Name != "" && o.Line > 0:
		return fmt.Sprintf("%s:%d", o.Name, o.Line)
	case o.Layer == LayerPreset:
		return "preset " + o.Name
	case o.Name != "":
		return o.Name
	}
	return "built-in"
}
