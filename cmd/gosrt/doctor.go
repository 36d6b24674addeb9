package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gosrt/gosrt/sandbox"
)

// doctorLimit ends a probe that hangs; each takes milliseconds.
const doctorLimit = 10 * time.Second

func newDoctor(a *app) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "doctor [--json]",
		Short: "probe what this host can enforce",
		Long: `Probe what this host can enforce, by trying it in a throw-away sandbox, and say
what is missing and how to get it. The status is 0 when a default run would be
held in full, and 1 otherwise.`,
		Args:                  cobra.NoArgs,
		DisableFlagsInUseLine: true,
		RunE:                  func(*cobra.Command, []string) error { return a.doctor(asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; fields are only ever added")
	return cmd
}

func (a *app) doctor(asJSON bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), doctorLimit)
	defer cancel()
	checks := sandbox.Probe(ctx)
	status := exitOK
	for _, c := range checks {
		if c.Status != sandbox.CheckOK {
			status = exitProblem
		}
	}
	if err := writeChecks(a.Out, checks, asJSON); err != nil {
		return err
	}
	return exitWith(status)
}

func writeChecks(w io.Writer, checks []sandbox.Check, asJSON bool) error {
	if asJSON {
		return writeJSON(w, struct {
			Checks []sandbox.Check `json:"checks"`
		}{checks})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range checks {
		fmt.Fprintf(t, "%s\t%s\t%s\n", c.Status, c.Name, printable(c.Message))
		if c.Hint != "" {
			fmt.Fprintf(t, "\thint:\t%s\n", printable(c.Hint))
		}
	}
	return t.Flush()
}
