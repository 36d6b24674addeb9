package proxy

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gosrt/gosrt/policy"
)

// maxPrintable bounds one piece of text from inside in a message.
const maxPrintable = 300

// printable makes text from inside fit for a terminal: one line of ASCII,
// escaped where needed, cut where long.
func printable(text string) string {
	cut := len(text) > maxPrintable
	if cut {
		text = text[:maxPrintable]
	}
	quoted := strconv.QuoteToASCII(text)
	text = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	if cut {
		text += "..."
	}
	return text
}

func (e *deniedError) violation(op string) policy.Violation {
	v := policy.Violation{
		Time: time.Now(), Kind: "connect", Operation: printable(op), Target: e.dest,
		Rule: e.decision.Rule, Reason: printable(e.decision.Reason), Hint: e.decision.Hint, Count: 1,
	}
	if v.Rule != "" {
		v.Origin = e.decision.Origin.String()
	}
	return v
}

// rule names what denied, also where no rule did.
func (e *deniedError) rule() string {
	if e.decision.Rule == "" {
		return "default"
	}
	return printable(e.decision.Rule)
}

// page is the denial for people: host, rule, reason and how to allow it.
func (e *deniedError) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "gosrt: %s is denied: %s\n", e.dest, printable(e.decision.Reason))
	fmt.Fprintf(&b, "gosrt: rule: %s\n", e.rule())
	if e.decision.Hint != "" {
		fmt.Fprintf(&b, "gosrt: hint: %s\n", e.decision.Hint)
	}
	return b.String()
}

// line is the denial in one line, for protocols that have room for no more.
func (e *deniedError) line() string {
	return fmt.Sprintf("gosrt: %s is denied: %s (rule: %s)", e.dest, printable(e.decision.Reason), e.rule())
}
