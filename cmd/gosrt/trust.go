package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gosrt/gosrt/internal/policyfile"
)

func newTrust(a *app) *cobra.Command {
	list, revoke := false, false
	cmd := &cobra.Command{
		Use:   "trust [--list | --revoke] [FILE]",
		Short: "let this project's .gosrt.toml widen the policy",
		Long: `Record that you have read the .gosrt.toml that holds here, or FILE, and that its
grants may be applied. It counts for exactly this content at exactly this path: after one
changed byte the file can only tighten again. The record lies outside every place
that a sandboxed command can write.`,
		Args:                  cobra.MaximumNArgs(1),
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, files []string) error {
			switch {
			case list && (revoke || len(files) > 0):
				return misuse{"--list stands alone", "gosrt trust --list"}
			case list:
				return a.trustList()
			}
			return a.trust(files, revoke)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the files that are trusted")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "trust the file no longer, whatever it holds")
	return cmd
}

// trust prints what it has recorded, so that a wrong directory is noticed.
func (a *app) trust(files []string, revoke bool) error {
	here, err := lookAround()
	if err != nil {
		return err
	}
	projects, err := here.projects(files)
	if err != nil {
		return err
	}
	for _, p := range projects {
		if err := a.trustOne(here, p, revoke); err != nil {
			return err
		}
	}
	return nil
}

// projects are the project files that a command here would run with, or the one
// that files names.
func (s surroundings) projects(files []string) ([]policyfile.Project, error) {
	dir := s.Dir
	if len(files) == 1 {
		if filepath.Base(files[0]) != policyfile.ProjectFile {
			return nil, fmt.Errorf("%q: only a project file, %s, needs trust", files[0], policyfile.ProjectFile)
		}
		dir = filepath.Dir(files[0])
	}
	found, err := policyfile.FindProjects(dir)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no %s in %q or at the root of its checkout", policyfile.ProjectFile, dir)
	}
	if len(files) == 1 {
		found = found[:1]
	}
	return found, nil
}

func (a *app) trustOne(here surroundings, p policyfile.Project, revoke bool) error {
	word, change := "trusted", here.trusted().Trust
	if revoke {
		word, change = "no longer trusted", here.trusted().Revoke
	}
	if err := change(p); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "%s: %s\n", word, printable(p.Path))
	return nil
}

func (a *app) trustList() error {
	here, err := lookAround()
	if err != nil {
		return err
	}
	paths, err := here.trusted().List()
	for _, path := range paths {
		fmt.Fprintln(a.Out, printable(path))
	}
	return err
}
