package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox"
)

func newPlan(a *app) *cobra.Command {
	opts := &runOptions{}
	asJSON := false
	cmd := &cobra.Command{
		Use:   "plan [flags] -- COMMAND [ARG]...",
		Short: "print what would be enforced for COMMAND, and run nothing",
		Long: `Print what gosrt would hold for COMMAND on this host: the rules and where they
were written, the mounts or profile, the changes to the environment, and what
this host cannot hold. Nothing is run, created or changed.`,
		Example: `  gosrt plan -- npm test
  gosrt plan --json --allow-domain example.org -- make`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.plan(cmd, args, opts, asJSON)
		},
	}
	opts.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; fields are only ever added")
	return cmd
}

func (a *app) plan(cmd *cobra.Command, args []string, opts *runOptions, asJSON bool) error {
	a.ui.quiet, a.ui.verbose = opts.quiet, opts.verbose
	if err := opts.check(); err != nil {
		return err
	}
	argv, err := argvOf(cmd, a.raw, args, opts.shellLine)
	if err != nil {
		return err
	}
	c, err := a.prepare(opts, argv)
	if err != nil {
		return err
	}
	plan, err := c.Plan()
	if err != nil {
		return err
	}
	report := newPlanReport(plan)
	if asJSON {
		return writeJSON(a.Out, report)
	}
	a.grantsNotApplied(c.Policy)
	a.notes(plan)
	return report.write(a.Out)
}

// planReport is a plan as people and programs read it. Fields are only added.
type planReport struct {
	OS          string      `json:"os"`
	Command     []string    `json:"command"`
	Directory   string      `json:"directory"`
	Files       []planRule  `json:"files"`
	Network     []planRule  `json:"network"`
	Environment []planEnv   `json:"environment"`
	Mounts      []planMount `json:"mounts,omitempty"`
	Backend     []string    `json:"backend"`
	Weaknesses  []planWeak  `json:"weaknesses"`
	Untrusted   []string    `json:"untrusted,omitempty"`
	Notes       []string    `json:"notes,omitempty"`
}

type planRule struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	Rule   string `json:"rule"`
	Origin string `json:"origin"`
	Reason string `json:"reason,omitempty"`
}

type planEnv struct {
	Name   string `json:"name"`
	Change string `json:"change"`
	Reason string `json:"reason,omitempty"`
}

type planMount struct {
	Kind   string `json:"kind"`
	Source string `json:"source,omitempty"`
	Dest   string `json:"dest"`
	Why    string `json:"why,omitempty"`
}

type planWeak struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func newPlanReport(p *policy.Plan) planReport {
	r := planReport{
		OS: p.OS, Command: p.Argv, Directory: p.Dir,
		Files: []planRule{}, Network: []planRule{}, Environment: []planEnv{}, Weaknesses: []planWeak{},
		Backend: sandbox.RenderArgv(p), Untrusted: p.Untrusted, Notes: p.Notes,
	}
	for _, f := range p.Files {
		r.Files = append(r.Files, planRule{string(f.Kind), f.Path, f.Rule.Text, f.Rule.Origin.String(), f.Rule.Reason})
	}
	for _, list := range []struct {
		kind  string
		rules []policy.HostRule
	}{
		{"allowedDomains", p.Network.Allowed},
		{"deniedDomains", p.Network.Denied},
		{"deniedAddresses", p.Network.DeniedAddresses},
	} {
		for _, h := range list.rules {
			r.Network = append(r.Network, planRule{list.kind, h.Text, h.Text, h.Origin.String(), h.Reason})
		}
	}
	for _, c := range p.EnvChanges {
		r.Environment = append(r.Environment, planEnv{c.Name, changeWord(c), c.Reason})
	}
	for _, m := range p.Mounts {
		r.Mounts = append(r.Mounts, planMount{string(m.Kind), m.Source, m.Dest, m.Why})
	}
	for _, w := range p.Weaknesses {
		r.Weaknesses = append(r.Weaknesses, planWeak(w))
	}
	return r
}

// changeWord never shows the value of a variable: a plan is pasted into issues.
func changeWord(c policy.EnvChange) string {
	if c.Op == policy.EnvSet {
		return "set"
	}
	return "removed"
}

func (r planReport) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "command:\t%s\n", printable(quoteLine(r.Command)))
	fmt.Fprintf(t, "directory:\t%s\n", printable(r.Directory))
	writeRules(t, "files", r.Files)
	writeRules(t, "network", r.Network)
	fmt.Fprintln(t, "\nenvironment:")
	for _, e := range r.Environment {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", e.Change, printable(e.Name), e.Reason)
	}
	fmt.Fprintln(t, "\nmounts, a later one covers an earlier one:")
	for _, m := range r.Mounts {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", m.Kind, printable(m.place()), printable(m.Why))
	}
	fmt.Fprintln(t, "\nnot held on this host:")
	for _, weak := range r.Weaknesses {
		fmt.Fprintf(t, "  %s\t%s\n", weak.ID, weak.Text)
	}
	if len(r.Weaknesses) == 0 {
		fmt.Fprintln(t, "  nothing that this policy asks for")
	}
	fmt.Fprintf(t, "\nbackend:\n  %s\n", quoteLine(r.Backend))
	return t.Flush()
}

func (m planMount) place() string {
	if m.Source == "" || m.Source == m.Dest {
		return m.Dest
	}
	return m.Source + " on " + m.Dest
}

func writeRules(w io.Writer, title string, rules []planRule) {
	fmt.Fprintf(w, "\n%s:\n", title)
	for _, r := range rules {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", r.Kind, printable(r.Target), printable(r.Origin), r.Reason)
	}
	if len(rules) == 0 {
		fmt.Fprintln(w, "  no rules; everything is denied")
	}
}

// writeJSON prints v indented, leaving <, > and & as they are: no browser reads it.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
