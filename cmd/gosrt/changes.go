package main

import (
	"io/fs"
	"path/filepath"
	"time"

	"github.com/gosrt/gosrt/internal/report"
)

// maxChanges bounds the lines of --changes.
const maxChanges = 100

// changes lists what the run made or changed in its directory that programs
// outside obey. The kernel sets the time of a change, so a command cannot backdate it.
func (a *app) changes(dir string, since time.Time) {
	n := 0
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		rel, _ := filepath.Rel(dir, path)
		who := obeyedBy(rel)
		info, err := e.Info()
		if who == "" || err != nil || changeTime(info).Before(since) {
			return nil
		}
		if n++; n > maxChanges {
			a.ui.linef(kindNote, "and more than %d changes", maxChanges)
			return filepath.SkipAll
		}
		a.ui.linef(kindNote, "changed: %s: %s", report.Cut(printable(rel), maxTarget), who)
		return nil
	})
}
