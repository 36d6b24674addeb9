package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)
	namedTest    = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	namedScript  = regexp.MustCompile(`TestScript/(\w+)((?:` + "`, `" + `[a-z]\w*)*)` + "`")
)

// A table of coverage names no test that is not there.
func TestCoverageNamesTestsThatExist(t *testing.T) {
	have := testNames(t, "../..")
	tables, err := filepath.Glob("../../docs/coverage/*.md")
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, table := range tables {
		text := read(t, table)
		for _, name := range namedTest.FindAllString(text, -1) {
			if !have[name] {
				t.Errorf("%s names %s, which is no test", filepath.Base(table), name)
			}
		}
		for _, script := range scriptsIn(text) {
			if _, err := os.Stat("../../testdata/script/" + script + ".txtar"); err != nil {
				t.Errorf("%s names %v", filepath.Base(table), err)
			}
		}
	}
}

// scriptsIn lists the scripts of "`TestScript/a`, `b`".
func scriptsIn(text string) []string {
	var scripts []string
	for _, m := range namedScript.FindAllStringSubmatch(text, -1) {
		scripts = append(scripts, m[1])
		scripts = append(scripts, strings.Split(m[2], "`, `")[1:]...)
	}
	return scripts
}

// testNames holds every test, fuzz target and benchmark below root.
func testNames(t *testing.T, root string) map[string]bool {
	t.Helper()
	have := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, m := range testFunction.FindAllStringSubmatch(read(t, path), -1) {
			have[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return have
}
