package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gosrt/gosrt/internal/policyfile"
	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox"
)

// surroundings are the facts of the place where gosrt was called.
type surroundings struct {
	Dir  string // the working directory, absolute
	Home string
	Env  []string
}

func lookAround() (surroundings, error) {
	dir, err := os.Getwd()
	if err != nil {
		return surroundings{}, fmt.Errorf("working directory: %w", err)
	}
	return surroundings{Dir: dir, Home: os.Getenv("HOME"), Env: os.Environ()}, nil
}

func (s surroundings) vars() policy.Vars { return policy.Vars{Home: s.Home, Env: s.Env} }

// load reads every layer of the policy.
func (s surroundings) load(f *policyFlags) (policy.Policy, error) {
	return policyfile.Load(policyfile.Request{
		Cwd:       s.Dir,
		ConfigDir: sandbox.ConfigDir(s.Env),
		StateDir:  sandbox.StateDir(s.Env),
		Vars:      s.vars(),
		Policies:  f.policies,
		Settings:  f.settings,
		Flags:     f.lists,
	})
}

// checkFile reads one file on its own, as strictly as a run does.
func (s surroundings) checkFile(file string) error {
	layer, parse := policy.LayerFile, policy.ParseTOML
	if filepath.Ext(file) == ".json" {
		layer, parse = policy.LayerSettings, policy.ParseSettings
	}
	src, err := policyfile.ReadNamed(layer, file, s.Dir)
	if err != nil {
		return err
	}
	_, err = parse(*src, s.vars())
	return err
}

func (s surroundings) trusted() policyfile.Store {
	return policyfile.Store{Dir: sandbox.StateDir(s.Env)}
}

// cache is the private cache of the project at hand, which the library creates.
// It is empty where there is no home directory to keep one in.
func (s surroundings) cache() string {
	store, err := cacheStore()
	if err != nil {
		return ""
	}
	project, err := projectOf(s.Dir)
	if err != nil {
		return ""
	}
	return store.For(project).Data()
}

// projectOf is the nearest directory at or above dir that holds a repository or
// a project file, else dir itself; links followed, so that a project has one name.
func projectOf(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	start, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	for at := start; ; at = filepath.Dir(at) {
		for _, mark := range []string{".git", policyfile.ProjectFile} {
			if _, err := os.Lstat(filepath.Join(at, mark)); err == nil {
				return at, nil
			}
		}
		if at == filepath.Dir(at) {
			return start, nil
		}
	}
}

// homeOf is the home directory of an environment; nil is this process's.
func homeOf(env []string) string {
	if env == nil {
		return os.Getenv("HOME")
	}
	home := ""
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "HOME="); ok {
			home = value
		}
	}
	return home
}
