package policy

import "time"

// Violation is one denied request, as reported to the user.
type Violation struct {
	Run  string    `json:"run,omitempty"`
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	// Kind is "write", "read", "connect", "socket", "port", "syscall" or "quarantine".
	Kind string `json:"kind"`
	// Operation is what was tried: a system call, "CONNECT", "GET", "SOCKS5".
	Operation string `json:"operation"`
	// Target is the path, host:port or call, printable and on one line.
	Target string `json:"target"`
	// PID and Program are the process as seen from outside; 0 and "" if unknown.
	PID     int    `json:"pid,omitempty"`
	Program string `json:"program,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Origin  string `json:"origin,omitempty"`
	Reason  string `json:"reason"`
	Hint    string `json:"hint,omitempty"`
	// Count is how often the same operation hit the same target; at least 1.
	Count int `json:"count"`
	// Inferred is true when gosrt concluded the denial instead of making it.
	Inferred bool `json:"inferred,omitempty"`
}
