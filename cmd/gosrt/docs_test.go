package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the generated parts of docs/gosrt.1 and README.md")

const (
	manFile    = "../../docs/gosrt.1"
	readmeFile = "../../README.md"
)

// TestDocs holds help, man page and README equal.
func TestDocs(t *testing.T) {
	root := newRoot(&app{stdio: stdio{nil, io.Discard, io.Discard}, ui: &ui{w: io.Discard}})
	var man bytes.Buffer
	writeMan(&man, root)
	compare(t, manFile, man.String())

	readme := read(t, readmeFile)
	for name, text := range map[string]string{
		"help":        "```\n" + helpText(t) + "```\n",
		"exit status": exitTable(),
		"limits":      limitsTable(),
	} {
		readme = replaceBlock(t, readme, name, text)
	}
	compare(t, readmeFile, readme)
}

func helpText(t *testing.T) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run([]string{"--help"}, stdio{nil, &out, &errs}); status != 0 || errs.Len() > 0 {
		t.Fatalf("--help: status %d, stderr %q", status, errs.String())
	}
	return out.String()
}

func exitTable() string {
	var b strings.Builder
	b.WriteString("| status | meaning |\n|---|---|\n")
	for _, e := range exitMeanings {
		fmt.Fprintf(&b, "| `%s` | %s |\n", e.Status, e.Meaning)
	}
	return b.String()
}

// replaceBlock puts text between the two comments that mark the block name.
func replaceBlock(t *testing.T, page, name, text string) string {
	t.Helper()
	head, rest, found := strings.Cut(page, "<!-- "+name+" -->\n")
	_, tail, closed := strings.Cut(rest, "<!-- end "+name+" -->\n")
	if !found || !closed {
		t.Fatalf("README.md has no block %q", name)
	}
	return head + "<!-- " + name + " -->\n" + text + "<!-- end " + name + " -->\n" + tail
}

func compare(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, read(t, file)); diff != "" {
		t.Errorf("%s is stale; make man rewrites it (-want +got):\n%s", file, diff)
	}
}

// read is "" for a file that is missing, which then is stale.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}
