package darwin

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gosrt/gosrt/policy"
)

// tagPrefix starts the mark of a denial: "gosrt-TAG-NUMBER", which the kernel
// writes as the last line of the message.
const tagPrefix = "gosrt-"

// denial is one line of the kernel's log.
type denial struct {
	program string
	pid     int
	op      string
	target  string
	rule    int // number in the profile
	count   int
	time    time.Time
}

// logEvent is what is used of one line of "log stream --style ndjson".
type logEvent struct {
	Message   string `json:"eventMessage"`
	Timestamp string `json:"timestamp"`
	ProcessID int    `json:"processID"`
	Sender    string `json:"senderImagePath"`
}

var (
	single    = regexp.MustCompile(`(?s)^Sandbox: (.+?)\((\d{1,9})\) deny\(\d+\) (\S+)(?: (.*))?$`)
	duplicate = regexp.MustCompile(`(?s)^(?:Sandbox: )?(\d{1,9}) duplicate reports? for (?:Sandbox: )?(.+?) deny\(\d+\) (\S+)(?: (.*))?$`)
)

// logTime is the form of a timestamp in log(1)'s JSON.
const logTime = "2006-01-02 15:04:05.999999-0700"

// parseDenial reads one line of the log stream. Only the kernel itself may say
// that something was denied: any process can write a line that looks like it.
func parseDenial(line []byte, tag string) (denial, bool) {
	var e logEvent
	if json.Unmarshal(line, &e) != nil || e.ProcessID != 0 || !strings.Contains(e.Sender, "/Sandbox.kext/") {
		return denial{}, false
	}
	text, mark := cutLastLine(e.Message)
	number, ok := strings.CutPrefix(mark, tagPrefix+tag+"-")
	rule, err := strconv.Atoi(number)
	if !ok || err != nil || rule < 0 {
		return denial{}, false
	}
	d := denial{rule: rule, count: 1}
	d.time, _ = time.Parse(logTime, e.Timestamp)
	if m := single.FindStringSubmatch(text); m != nil {
		d.program, d.op, d.target = m[1], m[3], m[4]
		d.pid, _ = strconv.Atoi(m[2])
		return d, true
	}
	if m := duplicate.FindStringSubmatch(text); m != nil {
		d.program, d.op, d.target = m[2], m[3], m[4]
		d.count, _ = strconv.Atoi(m[1])
		return d, d.count > 0
	}
	return denial{}, false
}

// cutLastLine splits a message at its last line; a path may hold newlines.
func cutLastLine(s string) (before, last string) {
	s = strings.TrimRight(s, "\n")
	i := strings.LastIndexByte(s, '\n')
	if i < 0 {
		return "", s
	}
	return s[:i], s[i+1:]
}

// noise are denials that the system's own libraries cause in every program and
// do without.
var noise = []struct{ op, target string }{
	{"file-write-xattr", ""}, // com.apple.provenance and quarantine, set by the system
	{"file-ioctl", "/dev/"},
	{"file-write-data", "/dev/dtracehelper"},
	{"mach-lookup", "com.apple.analyticsd"},
	{"mach-lookup", "com.apple.cfprefsd."},
	{"mach-lookup", "com.apple.diagnosticd"},
	{"mach-lookup", "com.apple.logd"},
	{"network-outbound", "/private/var/run/mDNSResponder"},
	{"network-outbound", "/private/var/run/syslog"},
	{"sysctl-read", ""},
	{"user-preference-read", ""},
}

func (d denial) isNoise() bool {
	for _, n := range noise {
		if d.op == n.op && strings.HasPrefix(d.target, n.target) {
			return true
		}
	}
	return false
}

// kinds are the words of policy.Violation for operations, by prefix.
var kinds = []struct{ op, kind string }{
	{"file-read", "read"},
	{"file-test", "read"},
	{"file-map", "read"},
	{"process-exec", "read"},
	{"file-", "write"},
	{"network-bind", "port"},
	{"network-inbound", "port"},
	{"network-outbound", "connect"},
}

func (d denial) kind() string {
	for _, k := range kinds {
		if strings.HasPrefix(d.op, k.op) {
			if k.kind == "connect" && strings.HasPrefix(d.target, "/") {
				return "socket"
			}
			return k.kind
		}
	}
	return "syscall"
}

// violation explains a denial by the rule whose number it carries.
func (d denial) violation(p *policy.Plan, rules []Rule) policy.Violation {
	v := policy.Violation{
		Time: d.time, Kind: d.kind(), Operation: d.op, Target: printable(d.target),
		PID: d.pid, Program: printable(d.program), Count: d.count, Reason: "no rule allows it",
	}
	var decided policy.Decision
	switch v.Kind {
	case "read":
		decided = p.DecideRead(d.target)
	case "write":
		decided = p.DecideWrite(d.target)
	}
	if decided.Reason != "" && decided.Verdict != policy.Allow {
		v.Reason, v.Hint = decided.Reason, decided.Hint
		v.Rule, v.Origin = decided.Rule, originOf(decided)
	}
	if d.rule <= 0 || d.rule >= len(rules) {
		return v
	}
	r := rules[d.rule]
	if decided.Verdict == policy.Allow || decided.Reason == "" {
		v.Reason = r.Why
	}
	if e, ok := r.entryFor(d.target); ok {
		v.Rule, v.Origin = string(e.Kind)+" "+e.Rule.Text, e.Rule.Origin.String()
		if e.Rule.Reason != "" {
			v.Reason = e.Rule.Reason
		}
	}
	return v
}

// entryFor is the entry of the rule that a target is owed to: the deepest denial
// that covers it, or a denial that lies beneath it and pins it, or a pattern
// that may, or a write root that stays where it is.
func (r Rule) entryFor(target string) (policy.FileRule, bool) {
	best, bestScore := policy.FileRule{}, 0
	for _, f := range r.Entries {
		if e, err := newEntry(f); err == nil && e.claim(target) > bestScore {
			best, bestScore = f, e.claim(target)
		}
	}
	return best, bestScore > 0
}

// claim orders entries by how well they explain the denial of a target.
func (e entry) claim(target string) int {
	const covers, pins, may, root = 4000, 3000, 2000, 1000 // apart by more than any depth
	low := strings.ToLower(target)
	switch {
	case e.Kind == policy.AllowWrite && e.path == target:
		return root
	case e.Kind == policy.AllowWrite:
		return 0
	case e.covers(target), e.glob == nil && e.anyCase() && within(low, strings.ToLower(e.path)):
		return covers + depth(e.base())
	case e.glob == nil && within(strings.ToLower(e.path), low):
		return pins
	case e.glob != nil && within(target, e.glob.base):
		return may
	}
	return 0
}

func originOf(d policy.Decision) string {
	if d.Rule == "" {
		return ""
	}
	return d.Origin.String()
}

// maxText bounds what is kept of a name from inside.
const maxText = 1024

// printable is text from inside on one line, without characters that steer a
// terminal or turn the direction of writing.
func printable(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	quoted := strconv.QuoteToGraphic(s)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted[1 : len(quoted)-1])
}
