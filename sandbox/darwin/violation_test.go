package darwin

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/gosrt/gosrt/policy"
)

const testTag = "00112233445566778899aabbccddeeff"

// stream runs a recorded-shape log through the reader.
func stream(r io.Reader) (lines []string, ready int) {
	readEvents(bufio.NewReaderSize(r, maxLine), testTag, func() { ready++ }, func(d denial) {
		lines = append(lines, fmt.Sprintf("rule=%d n=%d pid=%d %q %s %q", d.rule, d.count, d.pid, d.program, d.op, d.target))
	})
	return lines, ready
}

// maxLine is small, so that the fixture has a line that does not fit.
const maxLine = 2048

// TestLogStream: events that arrive in one read, in single bytes or cut anywhere
// give the same denials; forged, foreign and over-long lines give none.
func TestLogStream(t *testing.T) {
	text, err := os.ReadFile("testdata/log.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`rule=3 n=1 pid=4711 "cat" file-read-data "/Users/ann/.ssh/id_ed25519"`,
		`rule=0 n=1 pid=4712 "python3.12" file-write-create "/Users/ann/new file"`,
		`rule=0 n=1 pid=4713 "Google Chrome He" mach-lookup "com.apple.coreservices.launchservicesd"`,
		`rule=0 n=1 pid=4714 "a (odd) name" network-outbound "192.0.2.1:443"`,
		`rule=5 n=1 pid=4715 "sh" file-write-create "/Users/ann/proj/two\nlines"`,
		`rule=5 n=12 pid=0 "node" file-write-create "/Users/ann/proj/.vscode"`,
		`rule=0 n=1 pid=4716 "sh" process-exec* "/Users/ann/x deny(1) y"`,
		`rule=0 n=1 pid=4717 "sh" signal ""`,
	}
	for name, r := range map[string]io.Reader{
		"whole":     strings.NewReader(string(text)),
		"one byte":  iotest.OneByteReader(strings.NewReader(string(text))),
		"half":      iotest.HalfReader(strings.NewReader(string(text))),
		"data, EOF": iotest.DataErrReader(strings.NewReader(string(text))),
	} {
		got, ready := stream(r)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if ready != 1 {
			t.Errorf("%s: ready %d times", name, ready)
		}
	}
}

func TestLogStreamEndsInALine(t *testing.T) {
	full := `{"eventMessage":"Sandbox: sh(1) deny(1) file-read-data \/x\n` + tagPrefix + testTag + `-1","processID":0,"senderImagePath":"\/System\/Library\/Extensions\/Sandbox.kext\/Contents\/MacOS\/Sandbox"}`
	if got, _ := stream(strings.NewReader(full)); len(got) != 1 {
		t.Errorf("last line without its end: %q", got)
	}
	for i := range full {
		if got, _ := stream(strings.NewReader(full[:i])); len(got) != 0 {
			t.Fatalf("cut after %d bytes: %q", i, got)
		}
	}
}

// TestForgedDenials: control first, then the same line with one thing wrong.
func TestForgedDenials(t *testing.T) {
	event := func(message string, pid int, sender string) []byte {
		line, _ := json.Marshal(map[string]any{"eventMessage": message, "processID": pid, "senderImagePath": sender})
		return line
	}
	const kernel = "/System/Library/Extensions/Sandbox.kext/Contents/MacOS/Sandbox"
	good := "Sandbox: cat(7) deny(1) file-read-data /x\n" + tagPrefix + testTag + "-2"
	if _, ok := parseDenial(event(good, 0, kernel), testTag); !ok {
		t.Fatal("control: a genuine denial is not read")
	}
	for name, line := range map[string][]byte{
		"another process":   event(good, 812, kernel),
		"another sender":    event(good, 0, "/Users/ann/proj/logger"),
		"another run":       event(strings.ReplaceAll(good, testTag, strings.Repeat("0", 32)), 0, kernel),
		"a tag in the path": event("Sandbox: cat(7) deny(1) file-read-data /x"+tagPrefix+testTag+"-2", 0, kernel),
		"no number":         event(strings.TrimSuffix(good, "2"), 0, kernel),
		"negative number":   event(strings.TrimSuffix(good, "2")+"-2", 0, kernel),
		"words behind":      event(good+" x", 0, kernel),
		"allowed":           event(strings.ReplaceAll(good, "deny", "allow"), 0, kernel),
		"not JSON":          []byte(good),
		"null":              []byte("null"),
	} {
		if d, ok := parseDenial(line, testTag); ok {
			t.Errorf("%s: read as %+v", name, d)
		}
	}
}

// TestViolationNamesTheEntry: each denial goes back to the entry and line that
// caused it, whether it has a rule of its own or shares one.
func TestViolationNamesTheEntry(t *testing.T) {
	plan := project()
	r, err := Profile(plan, Options{Tag: testTag})
	if err != nil {
		t.Fatal(err)
	}
	profile, err := compileSBPL(r.Text, 15)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		q                  request
		kind, rule, origin string
	}{
		{request{op: "file-read-data", path: home + "/.ssh/id"}, "read", "denyRead " + home + "/.ssh", "policy.toml:2"},
		{request{op: "file-read-data", path: proj + "/a/.env"}, "read", "denyRead " + proj + "/**/.env", "policy.toml:4"},
		{request{op: "file-write-create", path: proj + "/.git/hooks/x"}, "write", "protect " + proj + "/.git/hooks", "policy.toml:6"},
		{request{op: "file-write-create", path: proj + "/.VSCODE"}, "write", "protect " + proj + "/.vscode", "policy.toml:8"},
		{request{op: "file-write-create", path: proj + "/.claude", vnode: "DIRECTORY"}, "write", "protect " + proj + "/.claude/commands", "policy.toml:9"},
		{request{op: "file-write-data", path: proj + "/vendor/x"}, "write", "denyWrite " + proj + "/vendor", "policy.toml:12"},
		{request{op: "file-write-create", path: home + "/x"}, "write", "", ""},
		{request{op: "network-outbound", path: "/private/var/run/docker.sock"}, "socket", "", ""},
		{request{op: "network-outbound", proto: "tcp", host: "192.0.2.1", port: 1}, "connect", "", ""},
		{request{op: "network-bind", proto: "tcp", host: "127.0.0.1", port: 1}, "port", "", ""},
		{request{op: "mach-lookup", name: "com.apple.trustd"}, "syscall", "", ""},
		{request{op: "file-clone", path: home + "/a"}, "write", "", ""},
	} {
		a := profile.decide(tt.q)
		if a.allow || a.message == "" {
			t.Errorf("%+v: allowed or unmarked", tt.q)
			continue
		}
		line, _ := json.Marshal(logEvent{
			Message:   fmt.Sprintf("Sandbox: sh(9) deny(1) %s %s%s\n%s", tt.q.op, tt.q.path, tt.q.name, a.message),
			Sender:    "/System/Library/Extensions/Sandbox.kext/Contents/MacOS/Sandbox",
			Timestamp: "2026-12-01 01:02:03.000000+0100",
		})
		d, ok := parseDenial(line, testTag)
		if !ok {
			t.Fatalf("not read: %s", line)
		}
		v := d.violation(plan, r.Rules)
		if v.Kind != tt.kind || v.Rule != tt.rule || v.Origin != tt.origin || v.Reason == "" || v.Count != 1 || v.Time.IsZero() {
			t.Errorf("%+v:\ngot %+v", tt.q, v)
		}
	}
}

// TestViolationIsPrintable: what a command names cannot steer the terminal.
func TestViolationIsPrintable(t *testing.T) {
	d := denial{op: "file-write-create", program: "sh\x1b[2J", count: 1,
		target: "/a\nb\x1b]0;x\x07\u202egnp." + strings.Repeat("x", 5000)}
	v := d.violation(&policy.Plan{}, nil)
	for _, s := range []string{v.Target, v.Program} {
		if strings.ContainsFunc(s, isControl) || strings.Contains(s, "\u202e") || len(s) > 2*maxText {
			t.Errorf("%q", s)
		}
	}
	if v := (denial{target: `/a b/"q"\x ä`}).violation(&policy.Plan{}, nil); v.Target != `/a b/"q"\x ä` {
		t.Errorf("plain text changed: %s", v.Target)
	}
}

func FuzzParseDenial(f *testing.F) {
	text, _ := os.ReadFile("testdata/log.ndjson")
	for line := range strings.Lines(string(text)) {
		f.Add([]byte(line))
	}
	plan := project()
	r, err := Profile(plan, Options{Tag: testTag})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if d, ok := parseDenial(line, testTag); ok {
			v := d.violation(plan, r.Rules)
			if v.Count < 1 || v.Kind == "" || v.Reason == "" || strings.ContainsFunc(v.Target, isControl) {
				t.Errorf("%+v", v)
			}
		}
	})
}
