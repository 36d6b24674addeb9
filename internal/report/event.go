package report

import (
	"time"

	"github.com/gosrt/gosrt/policy"
)

// Version is the number in every line. It changes only if a field ever changes
// its meaning; fields and types of line are added without it.
const Version = 1

// head opens every line.
type head struct {
	V    int    `json:"v"`
	Type string `json:"type"`
}

// Start is the first line: what runs, and under which limits.
type Start struct {
	head
	Run       string    `json:"run"`
	Time      time.Time `json:"time"`
	Version   string    `json:"version"`
	PID       int       `json:"pid"`
	Command   []string  `json:"command"`
	Directory string    `json:"directory"`
	OS        string    `json:"os"`
	Backend   string    `json:"backend"`
	// PolicyDigest is the SHA-256 of what gosrt policy show prints, in hex.
	PolicyDigest string     `json:"policyDigest,omitempty"`
	Layers       []Layer    `json:"layers"`
	Enforced     []string   `json:"enforced"`
	Weakened     []Weakness `json:"weakened"`
}

// Layer is one source of the policy.
type Layer struct {
	Name   string `json:"name"`
	Digest string `json:"digest,omitempty"`
}

// Weakness is something that is not held.
type Weakness struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Violation is one denied request. A later line with the same seq replaces it:
// its count has grown.
type Violation struct {
	head
	policy.Violation
	Verdict string `json:"verdict"`
}

// Decision is one allowed connection, written when it ends.
type Decision struct {
	head
	Run      string    `json:"run"`
	Time     time.Time `json:"time"` // when it began
	Kind     string    `json:"kind"`
	Target   string    `json:"target"`
	Protocol string    `json:"protocol"`
	Verdict  string    `json:"verdict"`
	Sent     int64     `json:"sent"`
	Received int64     `json:"received"`
	Millis   int64     `json:"ms"`
}

// Exit is the last line.
type Exit struct {
	head
	Run     string    `json:"run"`
	Time    time.Time `json:"time"`
	Outcome string    `json:"outcome"`
	Status  int       `json:"status"`
	Detail  string    `json:"detail,omitempty"`
	Millis  int64     `json:"ms"`
	// UserMillis and SystemMillis are the processor time of everything that ran;
	// PeakBytes is the largest resident size of one process. 0 where unknown.
	UserMillis   int64  `json:"userMs"`
	SystemMillis int64  `json:"systemMs"`
	PeakBytes    int64  `json:"peakBytes"`
	Denials      uint64 `json:"denials"`
	// NotRecorded counts denials and connections beyond what a report holds.
	NotRecorded uint64 `json:"notRecorded"`
	Hosts       []Host `json:"hosts"`
	// Written are the files that the run made or changed beneath its directory, most
	// first; only with --changes.
	Written []Written `json:"written,omitempty"`
}

// Host is the traffic with one destination.
type Host struct {
	Host        string `json:"host"`
	Connections int    `json:"connections"`
	Sent        int64  `json:"sent"`
	Received    int64  `json:"received"`
}

// Written counts the files that were created or changed in one directory.
type Written struct {
	Directory string `json:"directory"`
	Files     int    `json:"files"`
}
