package report

import (
	_ "embed"
	"html/template"
	"io"
	"math/bits"
	"slices"
	"sync"
	"time"
)

//go:embed page.html
var pageText string

// pageTemplate is parsed when a page is asked for: a run never needs it.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
})

// Page writes a record as one HTML page that holds everything it shows: no
// script, no link, nothing to load, and a policy that forbids all of these.
// The template escapes each text for the place where it stands.
func Page(w io.Writer, rec Record, command string) error {
	return pageTemplate().Execute(w, struct {
		Overview
		Timeline timeline
	}{NewOverview(rec, command), newTimeline(rec)})
}

// The timeline's measures, in the units of its viewBox.
const (
	timelineWidth = 1000
	laneLeft      = 110 // room for a lane's name
	laneRight     = timelineWidth - 12
	laneHeight    = 28
	axisHeight    = 18
	// maxMarks bounds what is drawn.
	maxMarks = 3000
)

// laneNames are the kinds of policy.Violation; what is none of them is "other".
var laneNames = []string{"write", "read", "connect", "socket", "port", "syscall", "quarantine", "other", connectionLane}

const connectionLane = "connections"

type timeline struct {
	Width, Height, Floor int
	Ticks                []tick
	Lanes                []lane
	Left                 int // events that are not drawn
}

type tick struct {
	X            int
	Text, Anchor string
}

type lane struct {
	Name  string
	Y     int
	Marks []mark
	Spans []span
}

type mark struct {
	X, Y, Radius int
	Text         string
}

type span struct {
	X, Y, Width int
	Text        string
}

func newTimeline(rec Record) timeline {
	scale := newScale(rec)
	lanes := make([]lane, len(laneNames))
	for i, name := range laneNames {
		lanes[i].Name = name
	}
	denials := rec.Violations[:min(len(rec.Violations), maxMarks)]
	for _, v := range denials {
		l := &lanes[laneOf(v.Kind)]
		l.Marks = append(l.Marks, mark{X: scale.x(v.Time), Radius: radius(v.Count), Text: markText(v)})
	}
	connections := rec.Decisions[:min(len(rec.Decisions), maxMarks-len(denials))]
	for _, d := range connections {
		l := &lanes[len(lanes)-1]
		from, to := scale.x(d.Time), scale.x(d.Time.Add(time.Duration(d.Millis)*time.Millisecond))
		l.Spans = append(l.Spans, span{X: from, Width: max(2, to-from), Text: line(d.Target) + ": " + Bytes(d.Sent) + " sent, " + Bytes(d.Received) + " received"})
	}
	t := timeline{Width: timelineWidth, Ticks: scale.ticks(), Left: len(rec.Violations) - len(denials) + len(rec.Decisions) - len(connections)}
	t.Lanes = slices.DeleteFunc(lanes, func(l lane) bool { return len(l.Marks)+len(l.Spans) == 0 })
	t.place()
	return t
}

// place puts the lanes below each other.
func (t *timeline) place() {
	for i := range t.Lanes {
		l := &t.Lanes[i]
		l.Y = i*laneHeight + laneHeight/2
		for j := range l.Marks {
			l.Marks[j].Y = l.Y
		}
		for j := range l.Spans {
			l.Spans[j].Y = l.Y - 4
		}
	}
	t.Floor = len(t.Lanes) * laneHeight
	t.Height = t.Floor + axisHeight
}

func laneOf(kind string) int {
	if i := slices.Index(laneNames, kind); i >= 0 && kind != connectionLane {
		return i
	}
	return slices.Index(laneNames, "other")
}

// radius grows with the logarithm of the count.
func radius(count int) int { return min(12, 3+bits.Len(uint(max(1, count)))) }

func markText(v Violation) string {
	text := line(v.Kind) + " " + line(v.Target)
	if v.Program != "" {
		text += " by " + line(v.Program)
	}
	return text
}

// scale maps times of a run to places.
type scale struct {
	began time.Time
	whole time.Duration // above 0
}

// newScale ends with the last event, or the run where it has ended.
func newScale(rec Record) scale {
	s := scale{began: rec.Start.Time}
	for _, v := range rec.Violations {
		s.whole = max(s.whole, v.Time.Sub(s.began))
	}
	for _, d := range rec.Decisions {
		s.whole = max(s.whole, d.Time.Sub(s.began))
	}
	if e := rec.Exit; e != nil && e.Millis > 0 {
		s.whole = time.Duration(min(e.Millis, int64(maxSpan/time.Millisecond))) * time.Millisecond
	}
	s.whole = min(max(s.whole, time.Millisecond), maxSpan)
	return s
}

// x is within the lane for any time.
func (s scale) x(t time.Time) int {
	part := min(1, max(0, float64(t.Sub(s.began))/float64(s.whole)))
	return laneLeft + int(part*(laneRight-laneLeft))
}

func (s scale) ticks() []tick {
	const parts = 4
	var list []tick
	for i := range parts + 1 {
		at := s.whole * time.Duration(i) / parts
		list = append(list, tick{X: s.x(s.began.Add(at)), Text: millis(at.Milliseconds()), Anchor: "middle"})
	}
	list[parts].Anchor = "end"
	return list
}
