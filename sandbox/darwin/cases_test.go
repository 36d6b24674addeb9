package darwin

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/policy/policytest"
)

const casePages = "../../testdata/compile"

// onMac compiles a page's policy as macOS would see the same tree.
func onMac(c *policytest.Case) (*policy.Plan, error) {
	h := c.Host
	h.OS = "darwin"
	h.Support = policy.Support{}
	return policy.Compile(c.Policy, h, c.Command)
}

// TestCompileCases renders every page of testdata/compile. What is the same for
// every policy is left out there, as policytest.Describe does: the first sections
// and the rows of the tables that are only held by name. testdata/profiles has a
// whole default profile.
func TestCompileCases(t *testing.T) {
	for _, c := range policytest.Cases(t, casePages) {
		t.Run(c.Name, func(t *testing.T) {
			plan, err := onMac(c)
			if err != nil {
				c.Check(t, "seatbelt.sb", "; refused: "+err.Error()+"\n", *update)
				return
			}
			page := *plan
			page.Files, page.Found = nil, nil
			for i, f := range plan.Files {
				if f.Kind == policy.Protect && (f.Pattern || !f.Exists) || f.Kind == policy.DenyRead && !f.Exists && !f.Pattern {
					continue
				}
				for _, at := range plan.Found {
					if at.Rule == i {
						page.Found = append(page.Found, policy.Found{Path: at.Path, Rule: len(page.Files)})
					}
				}
				page.Files = append(page.Files, f)
			}
			r, err := Profile(&page, Options{})
			if err != nil {
				t.Fatal(err)
			}
			i := strings.Index(r.Text, "; network\n")
			c.Check(t, "seatbelt.sb", r.Text[i:], *update)
		})
	}
}

// TestDefaultProfile is a page's profile as a whole, with every row of the tables.
func TestDefaultProfile(t *testing.T) { checkGolden(t, "default", render(t, defaultPlan(t)).Text) }

// defaultPlan is the built-in policy in an ordinary checkout on a Mac.
func defaultPlan(t *testing.T) *policy.Plan {
	t.Helper()
	for _, c := range policytest.Cases(t, casePages) {
		if c.Name == "darwin-default" {
			plan, err := onMac(c)
			if err != nil {
				t.Fatal(err)
			}
			return plan
		}
	}
	t.Fatal("the page is gone")
	return nil
}

// TestCompileCasesHold: on every page, each place of the tree is read and
// written under the profile exactly when the policy says so.
func TestCompileCasesHold(t *testing.T) {
	for _, c := range policytest.Cases(t, casePages) {
		plan, err := onMac(c)
		if err != nil {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			w := &world{mac: newMac(), plan: plan, start: map[string]*vnode{}}
			w.mac.sensitive = true // the pages are written for Linux
			load(w.mac, c.Tree, "/")
			w.confine(t)
			index := plan.Files.Index()
			w.mac.each(func(p string, n *vnode) {
				if p == "/" || p == "/private" || n.kind == "SYMLINK" || within(p, "/dev") || canonical(p) != p {
					return
				}
				named := strings.TrimPrefix(p, "/private") // these pages know no such link
				d := index.DecideRead(named)
				if got := w.mac.check(on("file-read-data", looked{node: n})); got != w.allowed(d) && (got || !leads(d) && !w.meet()) {
					t.Errorf("read %s: macOS %v, policy %+v", p, got, d)
				}
				d = index.DecideWrite(named)
				if got := w.mac.check(on("file-write-data", looked{node: n})); got != w.allowed(d) && (got || !w.meet()) {
					t.Errorf("write %s: macOS %v, policy %+v", p, got, d)
				}
			})
		})
	}
}

// load copies a tree into the fake Mac.
func load(m *fakeMac, tree *policytest.Tree, dir string) {
	entries, err := tree.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		p := path.Join(dir, e.Name)
		if _, exists := m.find(p, false); exists && e.Type.IsDir() {
			load(m, tree, p)
			continue
		}
		switch {
		case e.Type.IsDir():
			m.mkdirAll(p)
			load(m, tree, p)
		case e.Type&fs.ModeSymlink != 0:
			target, _ := tree.Readlink(p)
			m.add(p, &vnode{kind: "SYMLINK", target: target})
		case e.Type&fs.ModeSocket != 0:
			m.add(p, &vnode{kind: "SOCKET"})
		default:
			m.put(p, "data of "+p)
		}
	}
}
