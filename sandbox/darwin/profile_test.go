package darwin

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gosrt/gosrt/policy"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func render(t failer, p *policy.Plan) Rendered {
	t.Helper()
	r, err := Profile(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestProfileGolden(t *testing.T) {
	for name, plan := range goldens {
		t.Run(name, func(t *testing.T) {
			checkGolden(t, name, render(t, plan()).Text)
		})
	}
}

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "profiles", name+".sb")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("profile (-want +got):\n%s\nrun with -update when it is meant", diff)
	}
}

type failer interface {
	Helper()
	Fatal(...any)
}
