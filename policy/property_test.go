package policy_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/policy/policytest"
)

// world is a random host with a random policy on it.
type world struct {
	tree   *policytest.Tree
	policy policy.Policy
	dir    string
}

var names = []string{"a", "b", "c"}

func genPath(t *rapid.T, label string) string {
	parts := rapid.SliceOfN(rapid.SampledFrom(names), 1, 4).Draw(t, label)
	return "/w/" + strings.Join(parts, "/")
}

func genTree(t *rapid.T) *policytest.Tree {
	var lines strings.Builder
	made := map[string]string{}
	for i := range rapid.IntRange(3, 14).Draw(t, "nodes") {
		p := genPath(t, fmt.Sprintf("node%d", i))
		if made[p] != "" || slices.ContainsFunc(slices.Collect(keys(made)), func(q string) bool {
			return strings.HasPrefix(p, q+"/") && made[q] != "dir" || strings.HasPrefix(q, p+"/")
		}) {
			continue
		}
		kind := rapid.SampledFrom([]string{"dir", "dir", "dir", "file", "file", "link"}).Draw(t, "kind")
		made[p] = kind
		switch kind {
		case "dir":
			fmt.Fprintf(&lines, "%s/\n", p)
		case "file":
			fmt.Fprintf(&lines, "%s\n", p)
		case "link":
			fmt.Fprintf(&lines, "%s -> %s\n", p, genPath(t, "target"))
		}
	}
	return policytest.MustNew("/w/\n/tmp/\n/proc/\n/dev/\n/cwd/\n" + lines.String())
}

func keys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func genRules(t *rapid.T, label string, patterns bool) []policy.PathRule {
	var rules []policy.PathRule
	for range rapid.IntRange(0, 3).Draw(t, label) {
		p := rapid.SampledFrom([]string{"/", "/w", "", "", "", "", ""}).Draw(t, label)
		if p == "" {
			p = genPath(t, label)
		}
		r := policy.PathRule{Text: p, Path: p, Origin: policy.Origin{Layer: policy.LayerSettings, Name: "s.json"}}
		if patterns && rapid.IntRange(0, 3).Draw(t, "pattern") == 0 {
			r.Path = rapid.SampledFrom([]string{"/w/**/a", "/w/a/*", "/w/*/b", "/w/**/b/c", "/w/[ab]/**"}).Draw(t, "glob")
			r.Text, r.Pattern = r.Path, true
		}
		rules = append(rules, r)
	}
	return rules
}

func genWorld(t *rapid.T) world {
	w := world{tree: genTree(t), dir: "/cwd"}
	w.policy.Filesystem = policy.Filesystem{
		DenyRead:         genRules(t, "denyRead", true),
		AllowRead:        append(genRules(t, "allowRead", false), policy.PathRule{Text: "/cwd", Path: "/cwd"}),
		AllowWrite:       genRules(t, "allowWrite", false),
		DenyWrite:        genRules(t, "denyWrite", true),
		WriteImpliesRead: rapid.Bool().Draw(t, "implies"),
	}
	return w
}

func (w world) compile() (*policy.Plan, error) {
	host := policy.Host{OS: "linux", FS: w.tree, Support: policy.Support{Guard: true}}
	return policy.Compile(w.policy, host, policy.Command{Argv: []string{"true"}, Dir: w.dir})
}

// canonical lists the tree's paths that are no links.
func (w world) canonical() []string {
	var paths []string
	for _, p := range w.tree.Paths() {
		if _, err := w.tree.Readlink(p); err != nil {
			paths = append(paths, p)
		}
	}
	return paths
}

func TestMountsAgreeWithDecisions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := genWorld(t)
		plan, err := w.compile()
		if err != nil {
			t.Skip(err)
		}
		held := mountHeld(plan.Files)
		view := policytest.NewView(plan.Mounts)
		for _, p := range w.canonical() {
			if !view.Shows(p) {
				continue // the run's own tree: the host's file is not there
			}
			read, write := held.DecideRead(p), held.DecideWrite(p)
			if got, want := view.Reads(p), read.Verdict == policy.Allow; got != want {
				t.Fatalf("read %s: mounts say %v, decision %+v\n%s", p, got, read, dump(plan))
			}
			if got, want := view.Writes(p), write.Verdict == policy.Allow; got != want {
				t.Fatalf("write %s: mounts say %v, decision %+v\n%s", p, got, write, dump(plan))
			}
		}
	})
}

// mountHeld drops the rules that only the guard can hold.
func mountHeld(f policy.Files) policy.Files {
	return slices.DeleteFunc(slices.Clone(f), func(r policy.FileRule) bool {
		return r.Link || r.Pattern && r.Kind == policy.Protect
	})
}

func dump(plan *policy.Plan) string {
	var b strings.Builder
	for _, r := range plan.Files {
		if r.Rule.Group == "" {
			fmt.Fprintf(&b, "rule %s %s exists=%v link=%v pattern=%v exact=%v\n", r.Kind, r.Path, r.Exists, r.Link, r.Pattern, r.Exact)
		}
	}
	for _, m := range plan.Mounts {
		fmt.Fprintf(&b, "mount %s %s %o (%s)\n", m.Kind, m.Dest, m.Perms, m.Why)
	}
	return b.String()
}

func TestRuleOrderHasNoInfluence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := genWorld(t)
		plan, err := w.compile()
		if err != nil {
			t.Skip(err)
		}
		for _, list := range []*[]policy.PathRule{
			&w.policy.Filesystem.DenyRead, &w.policy.Filesystem.AllowRead,
			&w.policy.Filesystem.AllowWrite, &w.policy.Filesystem.DenyWrite,
		} {
			*list = rapid.Permutation(*list).Draw(t, "order")
		}
		again, err := w.compile()
		if err != nil {
			t.Fatalf("in another order: %v", err)
		}
		noReasons := cmp.Transformer("mount", func(m policy.Mount) string {
			return fmt.Sprintf("%s %s %s %o %d", m.Kind, m.Source, m.Dest, m.Perms, m.Ino)
		})
		if diff := cmp.Diff(plan.Mounts, again.Mounts, noReasons); diff != "" {
			t.Fatalf("mounts differ (-first +permuted):\n%s", diff)
		}
	})
}

func TestADenyNeverAllowsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := genWorld(t)
		before, err := w.compile()
		if err != nil {
			t.Skip(err)
		}
		fs := &w.policy.Filesystem
		fs.DenyRead = append(slices.Clone(fs.DenyRead), genRules(t, "moreRead", true)...)
		fs.DenyWrite = append(slices.Clone(fs.DenyWrite), genRules(t, "moreWrite", true)...)
		after, err := w.compile()
		if err != nil {
			t.Skip(err)
		}
		for _, p := range append(w.canonical(), genPath(t, "other"), path.Join(genPath(t, "absent"), "new")) {
			if after.DecideRead(p).Verdict == policy.Allow && before.DecideRead(p).Verdict != policy.Allow {
				t.Fatalf("read %s: allowed after more denials", p)
			}
			if after.DecideWrite(p).Verdict == policy.Allow && before.DecideWrite(p).Verdict != policy.Allow {
				t.Fatalf("write %s: allowed after more denials", p)
			}
		}
	})
}

// TestPins: whatever ends writing inside a write root holds each directory
// between, and nothing else is held.
func TestPins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := genWorld(t)
		plan, err := w.compile()
		if err != nil {
			t.Skip(err)
		}
		view := policytest.NewView(plan.Mounts)
		for _, p := range w.canonical() {
			if !view.Shows(p) || p == "/" || !view.Writes(p) {
				continue
			}
			want := slices.ContainsFunc(plan.Files, func(r policy.FileRule) bool {
				return !r.Pattern && r.Kind != policy.AllowRead && strings.HasPrefix(r.Path, p+"/") && !view.Writes(r.Path)
			}) || slices.ContainsFunc(w.canonical(), func(q string) bool {
				return strings.HasPrefix(q, p+"/") && view.Shows(q) && !view.Writes(q)
			})
			if got := view.Pinned(p); want && !got {
				t.Fatalf("%s holds a denied place and can be renamed\n%s", p, dump(plan))
			}
		}
	})
}
