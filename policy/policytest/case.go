package policytest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gosrt/gosrt/policy"
)

// Case is one page of testdata/compile: what goes in, and what each renderer
// makes of it. Sections:
//
//	policy.toml   --policy; likewise managed.toml, user.toml, project.toml (not
//	              trusted) and settings.json. Missing: that layer is not there
//	host          lines "key value" (os, home, cwd, state, cache, config, executable,
//	              guard, transparent, env NAME=value, argv WORD…), an empty
//	              line, then a file tree (see New)
//	error         the refusal, when there is one; then no other result
//	plan          rules, mounts, notes
//	bwrap.args, seatbelt.sb   written by the renderers' own tests
type Case struct {
	Name    string
	Policy  policy.Policy
	Host    policy.Host
	Command policy.Command
	Tree    *Tree

	file    string
	archive *txtar.Archive
}

// Cases reads every case. Root is the path of testdata/compile from the test's directory.
func Cases(t testing.TB, root string) []*Case {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("compile cases in %q: found %d: %v", root, len(files), err)
	}
	var cases []*Case
	for _, file := range files {
		c, err := readCase(file)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		cases = append(cases, c)
	}
	return cases
}

func readCase(file string) (*Case, error) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return nil, err
	}
	c := &Case{Name: strings.TrimSuffix(filepath.Base(file), ".txtar"), file: file, archive: archive}
	facts, tree, _ := strings.Cut(c.Section("host"), "\n\n")
	if c.Tree, err = New(tree); err != nil {
		return nil, err
	}
	c.Host = policy.Host{OS: "linux", FS: c.Tree, Support: policy.Support{Guard: true, Landlock: true, Transparent: true}}
	c.Command = policy.Command{Argv: []string{"true"}}
	for line := range strings.SplitSeq(facts, "\n") {
		if err := c.fact(line); err != nil {
			return nil, err
		}
	}
	return c, c.readPolicy()
}

func (c *Case) fact(line string) error {
	key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch key {
	case "":
	case "os":
		c.Host.OS = value
	case "home":
		c.Host.Home = value
		c.Host.Env = append(c.Host.Env, "HOME="+value)
	case "cwd":
		c.Command.Dir = value
	case "state":
		c.Host.StateDir = value
	case "config":
		c.Host.ConfigDir = value
	case "cache":
		c.Host.CacheDir = value
	case "executable":
		c.Host.Executable = value
	case "env":
		c.Host.Env = append(c.Host.Env, value)
	case "argv":
		c.Command.Argv = strings.Fields(value)
	case "guard", "transparent":
		on, err := strconv.ParseBool(value)
		if key == "guard" {
			c.Host.Support.Guard = on
		} else {
			c.Host.Support.Transparent = on
		}
		return err
	default:
		return fmt.Errorf("host line %q: unknown", line)
	}
	return nil
}

func (c *Case) readPolicy() error {
	in := policy.Input{Vars: policy.Vars{Home: c.Host.Home, Env: c.Host.Env}, Cwd: c.Command.Dir}
	for _, layer := range []struct {
		section string
		layer   policy.Layer
		into    **policy.Source
	}{
		{"managed.toml", policy.LayerManaged, &in.Managed},
		{"user.toml", policy.LayerUser, &in.User},
		{"project.toml", policy.LayerProject, &in.Project},
		{"policy.toml", policy.LayerFile, &in.File},
		{"settings.json", policy.LayerSettings, &in.Settings},
	} {
		if text := c.Section(layer.section); text != "" {
			*layer.into = &policy.Source{Layer: layer.layer, Name: layer.section, Data: []byte(text), Base: c.Command.Dir}
		}
	}
	var err error
	c.Policy, err = policy.Load(in)
	return err
}

// Section is the text of one section; empty when it is missing.
func (c *Case) Section(name string) string {
	for _, f := range c.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// Check compares got with a section, or rewrites the section when update is set.
// An empty got stands for a section that is not there.
func (c *Case) Check(t *testing.T, name, got string, update bool) {
	t.Helper()
	want := c.Section(name)
	if got == want {
		return
	}
	if !update {
		t.Errorf("%s: section %s differs; run with -update to rewrite\ngot:\n%s\nwant:\n%s", c.file, name, got, want)
		return
	}
	c.replace(name, got)
	if err := os.WriteFile(c.file, txtar.Format(c.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (c *Case) replace(name, text string) {
	for i, f := range c.archive.Files {
		if f.Name == name {
			if text == "" {
				c.archive.Files = append(c.archive.Files[:i], c.archive.Files[i+1:]...)
				return
			}
			c.archive.Files[i].Data = []byte(text)
			return
		}
	}
	c.archive.Files = append(c.archive.Files, txtar.File{Name: name, Data: []byte(text)})
}

// Describe spells a plan's filesystem part for a page. Rules of the table that
// are only held by name are left out: they are the same on every page.
func Describe(p *policy.Plan) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "dir %s\ntmp %s\n", p.Dir, p.TmpDir)
	for _, r := range p.Files {
		if r.Kind == policy.Protect && (r.Pattern || !r.Exists) || r.Kind == policy.DenyRead && !r.Exists && !r.Pattern {
			continue
		}
		fmt.Fprintf(&b, "rule %s %s%s\n", r.Kind, printable(r.Path), flags(r))
	}
	for _, m := range p.Mounts {
		fmt.Fprintf(&b, "mount %s %s%s  # %s\n", m.Kind, printable(m.Dest), detail(m), m.Why)
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "note %s\n", n)
	}
	for _, w := range p.Weaknesses {
		fmt.Fprintf(&b, "weakness %s\n", w.ID)
	}
	return b.String()
}

func printable(path string) string {
	quoted := strconv.Quote(path)
	if quoted[1:len(quoted)-1] != path || strings.Contains(path, " ") {
		return quoted
	}
	return path
}

func flags(r policy.FileRule) string {
	var b strings.Builder
	for _, f := range []struct {
		set  bool
		name string
	}{
		{!r.Exists && !r.Pattern, "absent"}, {r.Dir, "dir"}, {r.Exact, "exact"}, {r.Link, "link"},
		{r.Final, "final"}, {r.Fresh, "fresh"}, {r.Pattern, "pattern"}, {r.Empty, "empty"},
	} {
		if f.set {
			b.WriteString(" " + f.name)
		}
	}
	if r.Spelled != "" {
		b.WriteString(" spelled " + printable(r.Spelled))
	}
	return b.String()
}

func detail(m policy.Mount) string {
	switch m.Kind {
	case policy.MountTmpfs, policy.MountHide:
		if m.Dir {
			return fmt.Sprintf(" dir %04o", m.Perms)
		}
	case policy.MountSymlink:
		return " -> " + printable(m.Source)
	}
	return ""
}
