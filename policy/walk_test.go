package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/policy/policytest"
)

// hiddenBy lists what the mounts of a plan hide, without the run's own.
func hiddenBy(plan *policy.Plan) []string {
	var hidden []string
	for _, m := range plan.Mounts {
		if m.Kind == policy.MountHide {
			hidden = append(hidden, m.Dest)
		}
	}
	slices.Sort(hidden)
	return hidden
}

func TestDeniedPatternsFindWhatIsThere(t *testing.T) {
	tests := []struct {
		name, tree, deny, allow, want string
	}{
		{"at any depth", "/home/u/p/.env\n/home/u/p/a/b/.env", "**/.env", "", "/home/u/p/.env /home/u/p/a/b/.env"},
		{"ignore files are not obeyed", "/home/u/p/.gitignore = *\n/home/u/p/.ignore = *\n/home/u/p/a/.env", "**/.env", "", "/home/u/p/a/.env"},
		{"a directory that cannot be listed is hidden whole", "/home/u/p/z/ !\n/home/u/p/.env", "**/.env", "", "/home/u/p/.env /home/u/p/z"},
		{"one that cannot match is left alone", "/home/u/p/z/ !\n/home/u/p/.env", "*.env", "", "/home/u/p/.env"},
		{"links are followed", "/home/u/p/l -> /srv\n/srv/d/.env", "**/.env", "", "/srv/d/.env"},
		{"links in circles end", "/home/u/p/a/l -> ..\n/home/u/p/a/m -> /home/u/p/a\n/home/u/p/a/.env", "**/.env", "", "/home/u/p/a/.env"},
		{"many links to one place", "/home/u/p/l1 -> /srv\n/home/u/p/l2 -> /srv\n/srv/l3 -> /srv/d\n/srv/l4 -> /srv/d\n/srv/d/.env", "**/.env", "", "/srv/d/.env"},
		{"a matched link hides where it leads", "/home/u/p/x.pem -> /srv/key\n/srv/key", "*.pem", "", "/srv/key"},
		{"a dangling match hides nothing", "/home/u/p/x.pem -> /srv/gone", "*.pem", "", ""},
		{"below a match nothing is looked for", "/home/u/p/build/build/x", "**/build", "", "/home/u/p/build"},
		{"unless something is opened there", "/home/u/p/build/out/build/x", "**/build", "build/out", "/home/u/p/build /home/u/p/build/out/build"},
		{"odd names", `/home/u/p/\xff\n/.env`, "**/.env", "", "/home/u/p/\xff\n/.env"},
		{"a pattern from the root", "/srv/a/id_rsa", "/**/id_rsa", "", "/srv/a/id_rsa"},
		{"a class", "/home/u/p/key1\n/home/u/p/key2\n/home/u/p/keyx", "key[0-9]", "", "/home/u/p/key1 /home/u/p/key2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := setup{tree: tt.tree, deny: tt.deny, allow: tt.allow, write: "."}.mustCompile(t)
			want := strings.Split(tt.want, " ")
			if tt.want == "" {
				want = nil
			}
			if diff := cmp.Diff(want, hiddenBy(plan)); diff != "" {
				t.Errorf("hidden (-want +got):\n%s", diff)
			}
		})
	}
}

func TestManyMatches(t *testing.T) {
	var tree strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&tree, "/home/u/p/d%d/k%d.pem\n", i%50, i)
	}
	plan := setup{tree: tree.String(), deny: "**/*.pem"}.mustCompile(t)
	if got := len(hiddenBy(plan)); got != 2000 {
		t.Errorf("hidden: %d, want 2000", got)
	}
}

// TestStartDoesNotGrowWithTheTree: without a pattern of the user's, what Compile
// asks the host is bounded, however large the write root is.
func TestStartDoesNotGrowWithTheTree(t *testing.T) {
	asked := func(dirs int) int {
		var tree strings.Builder
		for i := range dirs {
			fmt.Fprintf(&tree, "/home/u/p/a%d/b%d/c/f\n", i%1000, i)
		}
		fs := policytest.MustNew(usualTree + tree.String())
		p, err := policy.Load(policy.Input{Vars: policy.Vars{Home: "/home/u"}, Cwd: "/home/u/p"})
		if err != nil {
			t.Fatal(err)
		}
		host := policy.Host{OS: "linux", Home: "/home/u", FS: fs}
		if _, err := policy.Compile(p, host, policy.Command{Argv: []string{"true"}, Dir: "/home/u/p"}); err != nil {
			t.Fatal(err)
		}
		return fs.Asked()
	}
	if small, large := asked(2000), asked(8000); large > small+100 {
		t.Errorf("calls: %d for 2000 directories, %d for 8000", small, large)
	}
}
