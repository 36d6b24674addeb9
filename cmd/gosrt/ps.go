package main

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gosrt/gosrt/internal/report"
	"github.com/gosrt/gosrt/internal/runs"
	"github.com/gosrt/gosrt/sandbox"
)

func newPs(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "ps", Short: "list the sandboxes of this user that run",
		Args: cobra.NoArgs, DisableFlagsInUseLine: true,
		RunE: func(*cobra.Command, []string) error { return a.ps(runs.In(sandbox.StateDir(os.Environ()))) },
	}
}

func (a *app) ps(dir runs.Dir) error {
	names, err := dir.List()
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tPID\tSINCE\tDENIALS\tDIRECTORY\tCOMMAND")
	for _, name := range names {
		rec, err := recordOf(dir, name)
		if err != nil { // it has ended since, or has not begun to write
			continue
		}
		s := rec.Start
		fmt.Fprintf(t, "%s\t%d\t%s\t%d\t%s\t%s\n", name, s.PID, s.Time.Local().Format(time.DateTime), len(rec.Violations),
			printable(s.Directory), printable(quoteLine(s.Command)))
	}
	return t.Flush()
}

func recordOf(dir runs.Dir, name string) (report.Record, error) {
	_, f, err := dir.Open(name)
	if err != nil {
		return report.Record{}, err
	}
	defer f.Close()
	return report.Read(f)
}

func newLog(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "log RUN", Short: "follow a run that gosrt ps lists, as JSON lines",
		Args: cobra.ExactArgs(1), DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.follow(runs.In(sandbox.StateDir(os.Environ())), args[0])
		},
	}
}

// followEvery is how often a record is looked at for more.
const followEvery = 200 * time.Millisecond

// follow copies the record until the run has ended. The last look comes after the
// end was seen, so that no line is lost.
func (a *app) follow(dir runs.Dir, begin string) error {
	run, f, err := dir.Open(begin)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		live := dir.Live(run)
		if _, err := io.Copy(a.Out, f); err != nil || !live {
			return err
		}
		time.Sleep(followEvery)
	}
}

func newAudit(a *app) *cobra.Command {
	verify := &cobra.Command{
		Use: "verify FILE", Short: "follow the chain of an audit log and name its first broken line",
		Args: cobra.ExactArgs(1), DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error { return a.auditVerify(args[0]) },
	}
	return newGroup("audit", "check an audit log", verify)
}

func (a *app) auditVerify(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines, last, err := report.Verify(f)
	if err != nil {
		a.ui.line(kindError, fmt.Sprintf("%s: %v", file, err))
		return exitWith(exitProblem)
	}
	_, err = fmt.Fprintf(a.Out, "%d lines hold; the last one's hash is %s\n", lines, last)
	return err
}
