package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gosrt/gosrt/policy"
)

func TestLogCountsRepetitions(t *testing.T) {
	l := NewLog("run", &Redactor{})
	v := policy.Violation{Kind: "write", Operation: "openat", Target: "/x"}
	if l.Add(v) == nil {
		t.Error("the first is not new")
	}
	for range 2 {
		if l.Add(v) != nil {
			t.Error("a repetition is new")
		}
	}
	v.Operation = "unlinkat"
	l.Add(v)
	list, total, distinct := l.List()
	if len(list) != 2 || total != 4 || distinct != 2 || list[0].Count != 3 || list[1].Count != 1 {
		t.Errorf("%d distinct, %d in all: %+v", distinct, total, list)
	}
}

// A command that tries a hundred thousand places costs bounded memory; the last
// ones are kept.
func TestLogKeepsTheLast(t *testing.T) {
	l := NewLog("run", &Redactor{})
	const tries = 100_000
	for i := range tries {
		l.Add(policy.Violation{Kind: "write", Target: fmt.Sprint("/", i)})
	}
	list, total, distinct := l.List()
	if len(list) != keep || total != tries || distinct != tries {
		t.Fatalf("kept %d of %d, %d distinct", len(list), total, distinct)
	}
	if first, last := list[0].Target, list[keep-1].Target; first != fmt.Sprint("/", tries-keep) || last != fmt.Sprint("/", tries-1) {
		t.Errorf("kept %s to %s", first, last)
	}
	if len(l.index) != keep {
		t.Errorf("the index holds %d", len(l.index))
	}
}

// Whatever a command puts into a name, it stays one printable, bounded line.
func TestForgedTextStaysOneLine(t *testing.T) {
	for _, forged := range []string{
		"/x\ngosrt: note: all is well",
		"/x\x1b[2J\x1b]0;owned\a",
		"/x\r\u202egnp.exe\u2066",
		"/x\u200b\ufeff\U000e0041",
		"/x\xff\xfe\x00",
		"/" + strings.Repeat("y", 10_000),
		"/" + strings.Repeat("é", 5_000),
	} {
		shown := NewLog("run", &Redactor{}).Add(policy.Violation{
			Kind: "write", Operation: forged, Target: forged, Program: forged, Rule: forged, Reason: forged, Hint: forged,
		})()
		for _, text := range []string{shown.Operation, shown.Target, shown.Program, shown.Rule, shown.Reason, shown.Hint} {
			if len(text) > maxLine+len("…") {
				t.Errorf("%.20q: %d bytes", forged, len(text))
			}
			if Printable(text) != text {
				t.Errorf("%q is not printable", text)
			}
		}
	}
}

func BenchmarkLogDistinct(b *testing.B) {
	l := NewLog("run", &Redactor{})
	for i := range b.N {
		l.Add(policy.Violation{Kind: "write", Operation: "openat", Target: fmt.Sprint("/home/user/project/file", i)})
	}
}
