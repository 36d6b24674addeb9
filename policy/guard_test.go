package policy_test

import (
	"path"
	"strings"
	"testing"

	"github.com/gosrt/gosrt/policy"
)

func TestJudge(t *testing.T) {
	index := setup{tree: "/home/u/p/.git/HEAD\n/home/u/p/.git/config\n/home/u/p/.git/hooks/\n/home/u/p/deep/a/b/c/", write: ".", noWrite: "sealed **/*.key"}.mustCompile(t).Files.Index()
	const dir = "/home/u/p/"
	none := func(string) bool { return false }
	all := func(p string) bool { return !strings.HasPrefix(p, dir+".git") }
	for _, tt := range []struct {
		act  policy.Act
		path string
		born func(string) bool
		want string // "allow", "born PLACE", "refuse" or "report"
	}{
		{policy.ActCreate, dir + "x", none, "allow"},
		{policy.ActCreate, dir + ".vscode", none, "refuse"},
		{policy.ActCreate, dir + ".vscode/tasks.json", none, "refuse"},
		{policy.ActSymlink, dir + ".claude", none, "refuse"}, // it would lead to .claude/commands
		{policy.ActCreate, dir + ".claude", none, "allow"},
		{policy.ActSymlink, dir + "x", none, "allow"},
		{policy.ActSymlink, dir + "n/.git", all, "refuse"},
		{policy.ActCreate, dir + "sealed", none, "refuse"},
		{policy.ActCreate, dir + "a/b.key", none, "refuse"},
		{policy.ActWrite, dir + ".git/config", all, "refuse"},
		{policy.ActRemove, dir + ".git/config", all, "refuse"},
		{policy.ActCreate, dir + "n/.git/config", all, "born " + dir + "n/.git"},
		{policy.ActCreate, dir + "n/.git/config", none, "refuse"},
		{policy.ActCreate, dir + "n/.git/hooks/pre-push.sample", all, "born " + dir + "n/.git"},
		{policy.ActCreate, dir + "n/.git/hooks/pre-push", all, "refuse"},
		{policy.ActCreate, dir + "n/.git/info/attributes", all, "refuse"},
		{policy.ActCreate, dir + "n/.git", all, "born " + dir + "n/.git"},
		{policy.ActRemove, dir + "deep/a/b/c/.git", none, "refuse"},
		{policy.ActCreate, "/etc/x", none, "report"},
		{policy.ActCreate, "/home/u/.bashrc", none, "report"},
		{policy.ActCreate, "/dev/x", none, "allow"},
		{policy.ActCreate, "relative", none, "report"},
	} {
		j := index.Judge(tt.act, tt.path, tt.born)
		got := map[bool]string{true: "refuse", false: "report"}[j.Refuse]
		if j.Verdict == policy.Allow {
			got = "allow"
		}
		if j.Born != "" {
			got = "born " + j.Born
		}
		if got != tt.want {
			t.Errorf("%d %s: got %s (%s), want %s", tt.act, tt.path, got, j.Reason, tt.want)
		}
	}
}

func TestSameBelow(t *testing.T) {
	index := setup{tree: "/home/u/p/x/", write: ".", noWrite: "a/*/c **/secret/key"}.mustCompile(t).Files.Index()
	const dir = "/home/u/p/"
	for _, tt := range []struct {
		old, new string
		same     bool
	}{
		{"x", "y", true},
		{"x", "x/y", true},
		{"x", ".git", false},
		{"x", "y.git", false},
		{"x", "a", false},
		{"x", "a/b", false},
		{"x", "a/b/d", true},
		{"a/b", "a/d", true},
		{"x", "secret", false},
		{"x", ".claude", false},
		{"r.git/modules/m/refs/x", "r.git/modules/m/x", true},
		{"../q/x", "y", false},
	} {
		if got := index.SameBelow(path.Join(dir, tt.old), path.Join(dir, tt.new)); got != tt.same {
			t.Errorf("%s to %s: got %t", tt.old, tt.new, got)
		}
	}
}
