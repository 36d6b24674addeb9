package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gosrt/gosrt/policy"
)

func newPolicy(a *app) *cobra.Command {
	flags := &policyFlags{}
	show := &cobra.Command{
		Use:   "show [flags]",
		Short: "print the effective policy with the origin of each line",
		Long: `Print the policy that a command would run with here, as TOML, all layers put
together. Each line names the file and line, the flag or the preset it comes from.`,
		Args:                  cobra.NoArgs,
		DisableFlagsInUseLine: true,
		RunE:                  func(*cobra.Command, []string) error { return a.policyShow(flags) },
	}
	show.Flags().SortFlags = false
	flags.register(show.Flags())
	check := &cobra.Command{
		Use:   "check [FILE...]",
		Short: "validate policy files as strictly as a run does",
		Long: `Validate FILE, or every policy file that a command would run with here. srt's
settings are recognised by their name's ending, .json. Prints nothing when all is
well; else the place and the nearest right spelling, with status 1.`,
		DisableFlagsInUseLine: true,
		RunE:                  func(_ *cobra.Command, files []string) error { return a.policyCheck(files) },
	}
	presets := &cobra.Command{
		Use:                   "presets [NAME]",
		Short:                 "list the presets, or print one",
		Args:                  cobra.MaximumNArgs(1),
		DisableFlagsInUseLine: true,
		RunE:                  func(_ *cobra.Command, names []string) error { return a.policyPresets(names) },
	}
	return newGroup("policy", "show, check and explain policies", show, check, presets)
}

func (a *app) policyShow(flags *policyFlags) error {
	here, err := lookAround()
	if err != nil {
		return err
	}
	p, err := here.load(flags)
	if err != nil {
		return err
	}
	a.grantsNotApplied(p)
	_, err = fmt.Fprint(a.Out, policy.Show(p))
	return err
}

func (a *app) policyCheck(files []string) error {
	here, err := lookAround()
	if err != nil {
		return err
	}
	var faults []error
	for _, file := range files {
		faults = append(faults, here.checkFile(file))
	}
	if len(files) == 0 {
		_, err := here.load(&policyFlags{})
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		a.ui.fail(err)
		return exitWith(exitProblem)
	}
	return nil
}

// policyPresets lists each preset with the first line of its text, which is a
// comment that says what it is for.
func (a *app) policyPresets(names []string) error {
	if len(names) == 1 {
		text, ok := policy.PresetText(names[0])
		if !ok {
			return misuse{fmt.Sprintf("no preset is called %q", names[0]), "gosrt policy presets"}
		}
		_, err := a.Out.Write(text)
		return err
	}
	all := policy.PresetNames()
	width := len(slices.MaxFunc(all, func(x, y string) int { return len(x) - len(y) }))
	for _, name := range all {
		text, _ := policy.PresetText(name)
		first, _, _ := strings.Cut(string(text), "\n")
		fmt.Fprintf(a.Out, "%-*s  %s\n", width, name, strings.TrimLeft(first, "# "))
	}
	return nil
}
