package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Overview is a Record as people read it: each text printable and on one line,
// each list bounded. A record read from a file proves nothing about its texts.
type Overview struct {
	Run      string
	Command  string
	Ending   string
	Facts    []Fact
	Denials  []Denial
	Hosts    []Share
	Written  []Share
	Weakened []Fact
	// DenialsLeft is how many denials are beyond what is listed.
	DenialsLeft uint64
	// NoHosts is what to say when Hosts is empty.
	NoHosts string
}

// Fact is a name and what it is.
type Fact struct{ Name, Text string }

// Denial is one row about a Violation.
type Denial struct{ At, Count, Kind, Target, Program, Why, Hint string }

// Share is one row about a part of a whole. Share is its part of the largest, in
// percent; Sent and Received are empty for files.
type Share struct {
	Name                  string
	Count, Sent, Received string
	Share                 int
}

// maxRows bounds each list of an overview.
const maxRows = 1000

// NewOverview takes a record that Read returned without an error, and its command
// as one line.
func NewOverview(rec Record, command string) Overview {
	s := rec.Start
	o := Overview{
		Run: line(s.Run), Command: line(command), Ending: ending(rec), Facts: facts(rec),
		NoHosts: "No connection was made.",
	}
	for _, v := range rec.Violations[:min(len(rec.Violations), maxRows)] {
		o.Denials = append(o.Denials, denial(v, s.Time))
	}
	for _, w := range s.Weakened {
		o.Weakened = append(o.Weakened, Fact{line(w.ID), line(w.Text)})
	}
	left := len(rec.Violations) - len(o.Denials)
	if rec.Exit == nil {
		o.NoHosts = "Not known before the run ends."
	} else {
		o.Hosts, o.Written = hostShares(rec.Exit.Hosts), writtenShares(rec.Exit.Written)
		o.DenialsLeft = rec.Exit.NotRecorded
	}
	o.DenialsLeft += uint64(left)
	return o
}

func line(s string) string { return Cut(Printable(s), maxLine) }

func ending(rec Record) string {
	e := rec.Exit
	if e == nil {
		return "The report has no end: the run goes on, or gosrt was killed."
	}
	text := fmt.Sprintf("%s with status %d after %s", line(e.Outcome), e.Status, millis(e.Millis))
	if e.Detail != "" {
		text += ": " + line(e.Detail)
	}
	return text
}

func facts(rec Record) []Fact {
	s := rec.Start
	list := []Fact{
		{"run", line(s.Run)},
		{"began", s.Time.Format(time.RFC3339)},
		{"directory", line(s.Directory)},
		{"enforced", line(s.Backend + ": " + strings.Join(s.Enforced, ", "))},
		{"policy", line(layers(s.Layers))},
	}
	if e := rec.Exit; e != nil {
		list = append(list,
			Fact{"processor time", millis(e.UserMillis+e.SystemMillis) + " of everything that ran"},
			Fact{"memory", Bytes(e.PeakBytes) + " at most in one process"},
			Fact{"denials", strconv.FormatUint(e.Denials, 10)})
	}
	return list
}

func layers(list []Layer) string {
	var names []string
	for _, l := range list {
		names = append(names, l.Name)
	}
	return strings.Join(names, ", ")
}

func denial(v Violation, began time.Time) Denial {
	why := v.Reason
	if v.Rule != "" {
		why += " (" + v.Rule
		if v.Origin != "" {
			why += ", " + v.Origin
		}
		why += ")"
	}
	return Denial{
		At: millis(v.Time.Sub(began).Milliseconds()), Count: strconv.Itoa(v.Count), Kind: line(v.Kind),
		Target: line(v.Target), Program: line(v.Program), Why: line(why), Hint: line(v.Hint),
	}
}

func hostShares(hosts []Host) []Share {
	var list []Share
	var largest int64
	for _, h := range hosts {
		largest = max(largest, h.bytes())
	}
	for _, h := range hosts[:min(len(hosts), maxRows)] {
		list = append(list, Share{
			Name: line(h.Host), Count: strconv.Itoa(h.Connections), Sent: Bytes(h.Sent), Received: Bytes(h.Received),
			Share: percent(h.bytes(), largest),
		})
	}
	return list
}

func (h Host) bytes() int64 { return h.Sent + h.Received }

func writtenShares(dirs []Written) []Share {
	var list []Share
	var largest int
	for _, d := range dirs {
		largest = max(largest, d.Files)
	}
	for _, d := range dirs[:min(len(dirs), maxRows)] {
		list = append(list, Share{Name: line(d.Directory), Count: strconv.Itoa(d.Files), Share: percent(int64(d.Files), int64(largest))})
	}
	return list
}

// percent is within 0 and 100, whatever a file claims.
func percent(part, whole int64) int {
	if part <= 0 || whole <= 0 {
		return 0
	}
	return int(min(100, float64(part)/float64(whole)*100))
}

func millis(ms int64) string {
	d := time.Duration(max(0, min(ms, int64(maxSpan/time.Millisecond)))) * time.Millisecond
	if d < time.Second {
		return d.String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// maxSpan is longer than any run; a file can claim more.
const maxSpan = 1000 * 24 * time.Hour

// Bytes is a size in decimal units, as disks and networks count.
func Bytes(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d B", max(0, n))
	}
	value, unit := float64(n)/1000, 0
	for value >= 999.95 && unit < len(units)-1 {
		value, unit = value/1000, unit+1
	}
	return fmt.Sprintf("%.1f %cB", value, units[unit])
}
