package linux

import (
	"testing"
	"time"
)

func TestActivity(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(1e6 + ms)) }
	var a activity
	if a.covers(at(0)) {
		t.Error("nothing was made, and a time is covered")
	}
	for _, ms := range []int{0, 50, 140, 1000} {
		a.note(at(ms))
	}
	for ms, want := range map[int]bool{-11: false, -10: true, 0: true, 100: true, 240: true, 241: false, 989: false, 990: true, 1100: true, 1101: false} {
		if got := a.covers(at(ms)); got != want {
			t.Errorf("%d ms: covered %t, want %t", ms, got, want)
		}
	}
	for ms := 2000; len(a.spans) < maxSpans; ms += 200 {
		a.note(at(ms))
	}
	a.note(at(1e9))
	if len(a.spans) != maxSpans || !a.covers(at(500)) || a.covers(at(-100)) {
		t.Errorf("%d spans; the oldest must be merged, not forgotten", len(a.spans))
	}
}
