package main

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/gosrt/gosrt/internal/report"
)

const (
	// maxChanges bounds the lines of --changes.
	maxChanges = 100
	// maxWritten bounds the directories in a report.
	maxWritten = 200
)

// changes lists what the run made or changed in its directory that programs
// outside obey, and returns how many files it made or changed in each directory.
// The kernel sets the time of a change, so a command cannot backdate it.
func (a *app) changes(dir string, redact *report.Redactor, since time.Time) []report.Written {
	listed, files := 0, map[string]int{}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		info, err := e.Info()
		if err != nil || changeTime(info).Before(since) {
			return nil
		}
		files[filepath.Dir(path)]++
		rel, _ := filepath.Rel(dir, path)
		who := obeyedBy(rel)
		if who == "" {
			return nil
		}
		if listed++; listed <= maxChanges {
			a.ui.linef(kindNote, "changed: %s: %s", report.Cut(printable(rel), maxTarget), who)
		}
		return nil
	})
	if listed > maxChanges {
		a.ui.linef(kindNote, "and %d more changes", listed-maxChanges)
	}
	return written(files, redact)
}

// written is the directories with most files.
func written(files map[string]int, redact *report.Redactor) []report.Written {
	var list []report.Written
	for dir, n := range files {
		list = append(list, report.Written{Directory: redact.Line(dir), Files: n})
	}
	slices.SortFunc(list, func(a, b report.Written) int {
		return cmp.Or(cmp.Compare(b.Files, a.Files), cmp.Compare(a.Directory, b.Directory))
	})
	return list[:min(len(list), maxWritten)]
}
