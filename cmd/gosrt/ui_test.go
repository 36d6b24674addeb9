package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gosrt/gosrt/internal/report"
	"github.com/gosrt/gosrt/policy"
)

func TestPrintableKeepsOneHarmlessLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain ümläut":          "plain ümläut",
		"a\nb\r\tc":             `a\x0ab\x0d\x09c`,
		"\x1b[31mred":           `\x1b[31mred`,
		"\xff\xfe":              `\xff\xfe`,
		"\u202etxt.exe":         `\u202etxt.exe`, // right-to-left override
		"zero\u200bwidth":       `zero\u200bwidth`,
		"\u0085next line":       `\u0085next line`,
		"line\u2028separator":   `line\u2028separator`,
		"\U000e0041 tag letter": `\ue0041 tag letter`,
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
}

// A shell reads a quoted line back as exactly the arguments, whatever they hold.
func TestQuoteLineSurvivesAShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	need(t, err == nil, "bash")
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(rapid.StringMatching(`[ -~é\n\t\x01'"\\$`+"`"+`]{0,6}`), 1, 4).Draw(t, "args")
		line := quoteLine(args)
		if printable(line) != line {
			t.Fatalf("%q is not printable", line)
		}
		out, err := exec.Command(bash, "-c", `printf '%s\0' `+line).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(out), strings.Join(args, "\x00")+"\x00"; got != want {
			t.Fatalf("%s read back as %q, want %q", line, got, want)
		}
	})
}

func TestFailPrintsEachErrorWithItsHint(t *testing.T) {
	var out bytes.Buffer
	u := &ui{w: &out, quiet: true}
	u.fail(errors.Join(misuse{"one", "gosrt one"}, fmt.Errorf("two: %w", errors.New("three\nfour"))))
	want := "gosrt: error: one\ngosrt: hint: gosrt one\ngosrt: error: two: three\\x0afour\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestColourOnlyRepeatsTheWord(t *testing.T) {
	var plain, coloured bytes.Buffer
	(&ui{w: &plain}).line(kindWarning, "x")
	(&ui{w: &coloured, color: true}).line(kindWarning, "x")
	if plain.String() != "gosrt: warning: x\n" {
		t.Errorf("plain: %q", plain.String())
	}
	if got := strings.NewReplacer("\x1b[33m", "", "\x1b[0m", "").Replace(coloured.String()); got != plain.String() {
		t.Errorf("without its colours %q", got)
	}
}

func TestSummaryIsBounded(t *testing.T) {
	log := report.NewLog("", &report.Redactor{})
	for i := range 100 {
		for range 3 {
			log.Add(policy.Violation{Kind: "connect", Operation: "CONNECT", Target: fmt.Sprintf("h%d.test:443", i),
				Reason: "no allowedDomains entry matches", Hint: fmt.Sprintf("--allow-domain h%d.test", i)})
		}
	}
	var out bytes.Buffer
	a := &app{ui: &ui{w: &out}}
	a.denials(log, adviser{})
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) > maxSummary {
		t.Errorf("%d lines, at most %d", len(lines), maxSummary)
	}
	if want := "gosrt: denied: connect h0.test:443 (3 times): no allowedDomains entry matches"; lines[0] != want {
		t.Errorf("first line %q, want %q", lines[0], want)
	}
	if want := "and 95 more"; !strings.Contains(lines[len(lines)-1], want) {
		t.Errorf("last line %q lacks %q", lines[len(lines)-1], want)
	}
}

// Text from inside cannot pose as a line of gosrt's own.
func TestDenialLineCannotBeForged(t *testing.T) {
	var out bytes.Buffer
	a := &app{ui: &ui{w: &out}}
	log := report.NewLog("", &report.Redactor{})
	log.Add(policy.Violation{
		Kind: "write", Target: "/x\ngosrt: note: all is well\x1b[2J" + strings.Repeat("y", 10_000),
		Program: "sh\r\n", Count: 1, Reason: "no allowWrite entry covers it",
	})
	a.denials(log, adviser{})
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Errorf("%d lines: %q", n, out.String())
	}
	if out.Len() > 2*maxTarget+200 || strings.ContainsAny(out.String(), "\x1b\r") {
		t.Errorf("not cut or not printable: %q", out.String())
	}
}
