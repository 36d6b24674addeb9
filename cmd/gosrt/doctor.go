package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gosrt/gosrt/sandbox"
)

// doctorLimit ends a probe that hangs; each takes milliseconds.
const doctorLimit = 10 * time.Second

// insideFlag makes doctor the probe that it runs in a sandbox.
const insideFlag = "inside"

func newDoctor(a *app) *cobra.Command {
	asJSON, inside := false, false
	cmd := &cobra.Command{
		Use:   "doctor [--json]",
		Short: "probe what this host can enforce",
		Long: `Probe what this host can enforce, by trying it in a throw-away sandbox, and say
what is missing and how to get it. The status is 0 when a default run would be
held in full, and 1 otherwise; a warning names a feature that is missing.`,
		Args:                  cobra.NoArgs,
		DisableFlagsInUseLine: true,
		RunE: func(*cobra.Command, []string) error {
			if inside {
				return sandbox.ProbeInside(a.Out)
			}
			return a.doctor(asJSON)
		},
	}
	cmd.Flags().BoolVar(&inside, insideFlag, false, "")
	_ = cmd.Flags().MarkHidden(insideFlag)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; fields are only ever added")
	return cmd
}

func (a *app) doctor(asJSON bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), doctorLimit)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	checks := sandbox.Probe(ctx, []string{self, "doctor", "--" + insideFlag})
	status := exitOK
	for _, c := range checks {
		if c.Status == sandbox.CheckError {
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
