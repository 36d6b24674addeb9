//go:build unix

package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func auditOf(t *testing.T, path string, events ...string) {
	t.Helper()
	sink, closer, err := OpenAudit(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	for _, e := range events {
		if err := sink([]byte(e)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAuditHoldsOverRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	auditOf(t, path, `{"a":1}`, `{"a":2}`)
	auditOf(t, path, `{"a":3}`)
	f, _ := os.Open(path)
	defer f.Close()
	if n, last, err := Verify(f); n != 3 || len(last) != 64 || err != nil {
		t.Errorf("%d lines, last %q, %v", n, last, err)
	}
}

func TestAuditOfManyAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			sink, closer, err := OpenAudit(path)
			if err != nil {
				t.Error(err)
				return
			}
			defer closer.Close()
			for j := range 20 {
				if err := sink(fmt.Appendf(nil, `{"i":%d,"j":%d}`, i, j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	text, _ := os.ReadFile(path)
	if n, _, err := Verify(bytes.NewReader(text)); n != 160 || err != nil {
		t.Errorf("%d lines, %v", n, err)
	}
}

// Each way of tampering is found at its first line.
func TestVerifyNamesTheFirstBrokenLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	auditOf(t, path, `{"a":1}`, `{"a":2}`, `{"a":3}`, `{"a":4}`)
	text, _ := os.ReadFile(path)
	lines := strings.SplitAfter(string(text), "\n")[:4]
	for name, row := range map[string]struct {
		text   string
		broken int
	}{
		"untouched":  {strings.Join(lines, ""), 0},
		"changed":    {lines[0] + strings.Replace(lines[1], `"a":2`, `"a":7`, 1) + lines[2] + lines[3], 3},
		"removed":    {lines[0] + lines[2] + lines[3], 2},
		"swapped":    {lines[1] + lines[0] + lines[2] + lines[3], 1},
		"inserted":   {lines[0] + lines[0] + lines[1], 2},
		"first gone": {lines[1] + lines[2], 1},
		"not whole":  {lines[0] + strings.TrimSuffix(lines[1], "\n"), 2},
		"foreign":    {lines[0] + "{}x\n", 2},
		"more keys":  {lines[0] + strings.Replace(lines[1], "{", `{"x":1,`, 1), 2},
	} {
		_, _, err := Verify(strings.NewReader(row.text))
		var broken *BrokenError
		switch {
		case row.broken == 0 && err != nil:
			t.Errorf("%s: %v", name, err)
		case row.broken > 0 && (!errors.As(err, &broken) || broken.Line != row.broken):
			t.Errorf("%s: %v, want line %d", name, err, row.broken)
		}
	}
}

func TestAuditRefusesWhatIsNone(t *testing.T) {
	dir := t.TempDir()
	for name, make := range map[string]func(path string) error{
		"another file": func(p string) error { return os.WriteFile(p, []byte("notes\n"), 0o600) },
		"a link":       func(p string) error { return os.Symlink("/etc/passwd", p) },
		"a directory":  func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		path := filepath.Join(dir, name)
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if _, _, err := OpenAudit(path); err == nil {
			t.Errorf("%s is taken for an audit log", name)
		}
	}
}
