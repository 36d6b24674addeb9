package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)#:]+)\)`)

// A document points to nothing that is not there, and every table of coverage
// is pointed to.
func TestDocumentsLinkToWhatExists(t *testing.T) {
	linked := map[string]bool{}
	for _, pattern := range []string{"../../*.md", "../../docs/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			for _, m := range link.FindAllStringSubmatch(read(t, file), -1) {
				target := filepath.Join(filepath.Dir(file), m[1])
				linked[target] = true
				if _, err := os.Stat(target); err != nil {
					t.Errorf("%s links to %s: %v", file, m[1], err)
				}
			}
		}
	}
	tables, _ := filepath.Glob("../../docs/coverage/*.md")
	for _, table := range tables {
		if !linked[table] {
			t.Errorf("docs/coverage.md does not list %s", filepath.Base(table))
		}
	}
}
