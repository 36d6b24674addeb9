package policyfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// Request says whose policy is loaded, and for which directory.
type Request struct {
	Cwd string // absolute
	// ConfigDir and StateDir are gosrt's own directories; see Dirs.
	ConfigDir, StateDir string
	Vars                policy.Vars
	// Managed is the administrator's file; empty: ManagedFile.
	Managed string
	// Policies and Settings are the files of --policy and --settings.
	Policies, Settings []string
	Flags              policy.Flags
}

// Load reads every policy file that counts for the request and merges them.
func Load(req Request) (policy.Policy, error) {
	in := policy.Input{Vars: req.Vars, Cwd: req.Cwd, Flags: req.Flags}
	if err := req.ownFiles(&in); err != nil {
		return policy.Policy{}, err
	}
	if err := req.projectFiles(&in); err != nil {
		return policy.Policy{}, err
	}
	if err := req.namedFiles(&in); err != nil {
		return policy.Policy{}, err
	}
	return policy.Load(in)
}

func (req Request) ownFiles(in *policy.Input) (err error) {
	managed := req.Managed
	if managed == "" {
		managed = ManagedFile
	}
	if in.Managed, err = readOwn(policy.LayerManaged, managed, filepath.Dir(managed)); err != nil {
		return err
	}
	if req.ConfigDir == "" {
		return nil
	}
	user := filepath.Join(req.ConfigDir, UserFile)
	in.User, err = readOwn(policy.LayerUser, user, req.Cwd)
	if in.User != nil {
		in.User.Name = tilde(user, req.Vars.Home)
	}
	return err
}

func (req Request) projectFiles(in *policy.Input) error {
	found, err := FindProjects(req.Cwd)
	if err != nil {
		return err
	}
	store := Store{Dir: req.StateDir}
	for i, project := range found {
		trusted, err := store.Trusted(project)
		if err != nil {
			return err
		}
		if i == 0 {
			in.Project, in.ProjectTrusted = &project.Source, trusted
		} else {
			in.Checkout, in.CheckoutTrusted = &project.Source, trusted
		}
	}
	return nil
}

func (req Request) namedFiles(in *policy.Input) error {
	for _, row := range []struct {
		names []string
		layer policy.Layer
	}{{req.Settings, policy.LayerSettings}, {req.Policies, policy.LayerFile}} {
		for _, name := range row.names {
			src, err := ReadNamed(row.layer, name, req.Cwd)
			if err != nil {
				return err
			}
			in.More = append(in.More, *src)
		}
	}
	return nil
}

// Project is one project file.
type Project struct {
	// Path is absolute, with the links of its directory followed. It is the name
	// under which the file is trusted.
	Path   string
	Source policy.Source
}

// FindProjects returns the project files for a directory, nearest first: its own
// and, when it lies inside a checkout, the one at the checkout's root.
func FindProjects(cwd string) ([]Project, error) {
	abs, err := filepath.Abs(cwd)
	if err != nil {
		return nil, fmt.Errorf("current directory: %w", err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, fmt.Errorf("current directory %q: %w", cwd, err)
	}
	dirs := []string{real}
	if root := checkoutRoot(real); root != "" && root != real {
		dirs = append(dirs, root)
	}
	var found []Project
	for _, dir := range dirs {
		path := filepath.Join(dir, ProjectFile)
		spelled := path
		if rel, err := filepath.Rel(real, path); err == nil {
			spelled = rel
		}
		src, err := readProject(dir, spelled)
		if err != nil {
			return nil, err
		}
		if src != nil {
			found = append(found, Project{Path: path, Source: *src})
		}
	}
	return found, nil
}

// checkoutRoot is the nearest directory at or above dir that holds ".git", which
// is a file in a linked worktree. Empty when there is none.
func checkoutRoot(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// Dirs returns gosrt's configuration and state directories after the XDG base
// directory specification: a relative XDG variable is ignored. Without a home
// directory and without the variable the name is empty.
func Dirs(home string, getenv func(string) string) (config, state string) {
	return xdgDir(getenv("XDG_CONFIG_HOME"), home, ".config"),
		xdgDir(getenv("XDG_STATE_HOME"), home, ".local/state")
}

func xdgDir(own, home, otherwise string) string {
	switch {
	case filepath.IsAbs(own):
		return filepath.Join(own, "gosrt")
	case filepath.IsAbs(home):
		return filepath.Join(home, otherwise, "gosrt")
	}
	return ""
}

// tilde spells a path as the user would type it.
func tilde(path, home string) string {
	if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "" {
		return "~/" + rest
	}
	return path
}
