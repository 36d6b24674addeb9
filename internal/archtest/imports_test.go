package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gosrt/gosrt"

// room is one row of the house: what a package may import beside the standard
// library. Packages of this module are written without the module's path.
type room struct {
	ours   []string
	others []string
	// std lists what it may not take from the standard library.
	forbidden []string
}

// effects are the packages through which a package could do, see or wait for
// anything; a pure package has none of them.
var effects = []string{
	"os", "os/exec", "os/signal", "os/user", "net", "net/http", "log", "log/slog", "syscall", "unsafe",
	"io/ioutil", "plugin", "runtime/debug", "testing", "math/rand", "math/rand/v2", "crypto/rand",
}

// rooms is the house (see README, "Map of the source"). Imports run one way and
// siblings never meet. A package without a row fails the test: adding one is a
// decision.
var rooms = map[string]room{
	"policy": {
		others:    []string{"github.com/BurntSushi/toml", "golang.org/x/net/idna", "golang.org/x/net/publicsuffix"},
		forbidden: effects,
	},
	"policy/policytest": { // a host for tests of other packages
		ours: []string{"policy"}, others: []string{"github.com/rogpeppe/go-internal/txtar"},
	},
	"proxy": {
		ours:   []string{"policy"},
		others: []string{"github.com/elazarl/goproxy", "github.com/armon/go-socks5", "golang.org/x/net", "golang.org/x/sys"},
	},
	// The stage is a process start of its own, and its init must run before
	// that of net/http: it may need nothing that is initialized late.
	"sandbox/linux/stage": {
		others:    []string{"golang.org/x/sys"},
		forbidden: []string{"net", "net/http", "os/exec", "log", "log/slog", "crypto/rand", "math/rand"},
	},
	"sandbox/linux":  {ours: []string{"policy", "sandbox/linux/stage"}, others: []string{"golang.org/x/net/bpf", "golang.org/x/sys"}},
	"sandbox/darwin": {ours: []string{"policy"}, others: []string{"golang.org/x/sys", "golang.org/x/text/unicode/norm"}},
	"sandbox": {
		ours:   []string{"policy", "proxy", "sandbox/linux", "sandbox/linux/stage", "sandbox/darwin"},
		others: []string{"golang.org/x/sys"},
	},
	"internal/policyfile":   {ours: []string{"policy"}, others: []string{"golang.org/x/sys"}},
	"internal/projectcache": {others: []string{"golang.org/x/sys"}},
	"internal/archtest":     {},
	"internal/learn":        {ours: []string{"policy"}, forbidden: effects},
	"internal/report":       {ours: []string{"policy"}, others: []string{"golang.org/x/sys"}},
	"internal/runs":         {others: []string{"golang.org/x/sys"}},
	"cmd/gosrt": {
		ours: []string{
			"policy", "proxy", "sandbox", "internal/policyfile", "internal/projectcache", "internal/report", "internal/runs", "internal/learn",
		},
		others: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term"},
	},
}

func TestImportGraph(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		t.Run(goos, func(t *testing.T) {
			for _, p := range list(t, goos) {
				r, ok := rooms[p.name()]
				if !ok {
					t.Errorf("package %s has no row in internal/archtest: say what it may import", p.name())
					continue
				}
				for _, imported := range p.Imports {
					if fault := r.check(imported); fault != "" {
						t.Errorf("%s imports %s: %s", p.name(), imported, fault)
					}
				}
			}
		})
	}
}

// A table that forbids nothing would pass every graph.
func TestRowsRefuse(t *testing.T) {
	for _, row := range []struct{ from, to string }{
		{"policy", "os"},
		{"policy", module + "/sandbox"},
		{"proxy", module + "/sandbox/linux"},
		{"sandbox/linux", module + "/sandbox/darwin"},
		{"sandbox/linux", "github.com/elazarl/goproxy"},
		{"sandbox/linux", "golang.org/x/network"},
		{"sandbox", "github.com/spf13/cobra"},
	} {
		if fault := rooms[row.from].check(row.to); fault == "" {
			t.Errorf("%s may import %s", row.from, row.to)
		}
	}
}

// check returns why the import is wrong, or "".
func (r room) check(imported string) string {
	own, isOwn := strings.CutPrefix(imported, module+"/")
	switch {
	case isOwn && !slices.Contains(r.ours, own):
		return "against the direction of imports"
	case isOwn:
		return ""
	case slices.Contains(r.forbidden, imported):
		return "this package has no effects"
	case isStandard(imported), slices.ContainsFunc(r.others, func(o string) bool { return within(imported, o) }):
		return ""
	}
	return "this package has no row for it"
}

// isStandard follows the go command: only the standard library has a first
// element without a dot.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

type listed struct {
	ImportPath string
	Imports    []string
}

func (p listed) name() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// list asks for every package of the module as goos sees it. CGO_ENABLED=0 is
// how gosrt is built.
func list(t *testing.T, goos string) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports", module+"/...")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderrOf(err))
	}
	packages, err := decode(out)
	if err != nil || len(packages) < 2 {
		t.Fatalf("go list: %d packages, %v", len(packages), err)
	}
	return packages
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

func decode(out []byte) ([]listed, error) {
	var packages []listed
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
		packages = append(packages, p)
	}
}
