package report

import (
	"bytes"
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/gosrt/gosrt/policy"
)

// aRecord has something in every part of a page; each text is made by name.
func aRecord(name func(string) string) Record {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	rec := Record{
		Start: &Start{Time: began, Command: []string{"x"}, Layers: []Layer{{}}, Enforced: []string{"x"}, Weakened: []Weakness{{}}},
		Violations: []Violation{
			{Violation: policy.Violation{Seq: 1, Count: 3, Time: began.Add(time.Second)}},
			{Violation: policy.Violation{Seq: 2, Count: 1, Time: began.Add(2 * time.Second)}},
		},
		Decisions: []Decision{{Time: began, Millis: 500, Sent: 1200, Received: 3}},
		Exit:      &Exit{Millis: 4000, Denials: 4, Hosts: []Host{{Sent: 1200}}, Written: []Written{{Files: 2}}},
	}
	fill(reflect.ValueOf(&rec).Elem(), "", name)
	return rec
}

// fill sets every text in v, whatever fields are added to it later.
func fill(v reflect.Value, field string, name func(string) string) {
	switch v.Kind() {
	case reflect.Pointer:
		fill(v.Elem(), field, name)
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), field, name)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), v.Type().Field(i).Name, name)
			}
		}
	case reflect.String:
		v.SetString(name(field))
	}
}

func pageOf(t *testing.T, rec Record, command string) string {
	t.Helper()
	var b bytes.Buffer
	if err := Page(&b, rec, command); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// skeleton is the page without its texts: each tag with its attributes.
func skeleton(t *testing.T, page string) []string {
	t.Helper()
	var tags []string
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return tags
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken, html.CommentToken:
			tags = append(tags, z.Token().String())
		}
	}
}

var forgedTexts = []string{
	`<script>document.title="owned"</script>`, `</title></style></svg></code><script>document.title="owned"</script>`,
	`<img src=x onerror="document.title='owned'">`, `" onload="document.title='owned'" x="`, `' autofocus onfocus=alert(1) '`,
	`--><script>document.title="owned"</script><!--`, `]]><script>document.title="owned"</script>`, `{{.Run}}{{template "page"}}`,
	`&lt;script&gt;`, "\x1b[2J\x1b]0;owned\a", "a\u202egnp.exe\u2066", "\xff\xfe\x00<b>", "</body></html><meta http-equiv=refresh content=0;url=javascript:1>",
	"+ADw-script+AD4-", strings.Repeat("<", 5000),
}

// Whatever is in a text, and in whichever text, the page has the tags and
// attributes that it has otherwise, and nothing that moves a cursor.
func TestPageCannotBeForged(t *testing.T) {
	plain := skeleton(t, pageOf(t, aRecord(func(string) string { return "x" }), "x"))
	if whole := strings.Join(plain, ""); strings.Count(whole, "<circle") != 2 || strings.Count(whole, "<table") != 3 {
		t.Fatalf("the control is not the whole page: %q", plain)
	}
	for _, forged := range forgedTexts {
		page := pageOf(t, aRecord(func(string) string { return forged }), forged)
		if diff := cmp.Diff(plain, skeleton(t, page)); diff != "" {
			t.Errorf("%.40q changes the page: %s", forged, diff)
		}
		if !utf8.ValidString(page) || strings.ContainsAny(page, "\x1b\a\x00\u202e\u2066") {
			t.Errorf("%.40q is not made printable", forged)
		}
	}
}

// The page shows every text that it is to show, as text.
func TestPageShows(t *testing.T) {
	page := html.UnescapeString(pageOf(t, aRecord(func(field string) string { return "the<" + field + ">" }), "the<command>"))
	for _, want := range []string{
		"the<command>", "the<Run>", "the<Outcome>", "the<Directory>", "the<Backend>", "the<Target>", "the<Program>", "the<Kind>",
		"the<Reason> (the<Rule>, the<Origin>)", "the<Hint>", "the<Host>", "the<ID>", "the<Text>", "1.2 kB", "3s", "4s",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(page, "://") {
		t.Error("the page leads somewhere")
	}
}

// Numbers of a file can be anything; places stay within the picture.
func TestPageOfAbsurdNumbers(t *testing.T) {
	rec := aRecord(func(string) string { return "x" })
	for _, n := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		rec.Exit.Millis, rec.Exit.UserMillis, rec.Exit.SystemMillis, rec.Exit.PeakBytes = n, n, n, n
		rec.Exit.Hosts[0] = Host{Sent: n, Received: n}
		rec.Exit.Written[0].Files = int(n)
		rec.Violations[0].Count, rec.Decisions[0].Millis = int(n), n
		for _, at := range []time.Time{{}, time.Unix(1<<40, 0), rec.Start.Time} {
			rec.Violations[0].Time, rec.Decisions[0].Time = at, at
			tl := newTimeline(rec)
			for _, l := range tl.Lanes {
				for _, m := range l.Marks {
					inside(t, m.X, m.Radius)
				}
				for _, s := range l.Spans {
					inside(t, s.X, s.Width)
				}
			}
			pageOf(t, rec, "x")
		}
	}
}

func inside(t *testing.T, x, size int) {
	t.Helper()
	if x < laneLeft || x > laneRight || size < 0 || size > laneRight-laneLeft {
		t.Errorf("at %d, %d wide", x, size)
	}
}

// A long report makes a bounded page that says what it leaves out.
func TestPageIsBounded(t *testing.T) {
	rec := aRecord(func(string) string { return "x" })
	for len(rec.Violations) < 2*maxLines {
		rec.Violations = append(rec.Violations, rec.Violations[0])
	}
	page := pageOf(t, rec, "x")
	if n := strings.Count(page, "<circle"); n != maxMarks {
		t.Errorf("%d marks", n)
	}
	if !strings.Contains(page, "19000 more are not listed") || !strings.Contains(page, "17001 more events are not drawn") {
		t.Error("what is left out is not said")
	}
}

// A run that goes on, or was killed, has a page too.
func TestPageWithoutEnd(t *testing.T) {
	page := pageOf(t, Record{Start: &Start{}}, "x")
	for _, want := range []string{"has no end", "Nothing was denied", "Not known before the run ends"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
}

// TestPageInChromium lets a browser judge: no script of the page's texts runs,
// and the same page without its policy and its escapes shows that one would.
func TestPageInChromium(t *testing.T) {
	if os.Getenv("GOSRT_TEST_LONG") == "" {
		t.Skip("a browser: set GOSRT_TEST_LONG")
	}
	forged := `</title></style></svg></code><script>document.body.id="owned"</script><img src=x onerror="document.body.id='owned'">`
	page := pageOf(t, aRecord(func(string) string { return forged }), forged)
	if dom := render(t, page); strings.Contains(dom, `<body id="owned"`) || !strings.Contains(dom, "<circle") {
		t.Errorf("a text ran, or the page is not whole:\n%s", dom)
	}
	bare := html.UnescapeString(strings.ReplaceAll(page, "Content-Security-Policy", "x"))
	if dom := render(t, bare); !strings.Contains(dom, `<body id="owned"`) {
		t.Error("the control runs no script either: this test proves nothing")
	}
}

// render is the page's document as Chromium has it in the end.
func render(t *testing.T, page string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dom, err := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--dump-dom", "file://"+file).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(dom)
}
