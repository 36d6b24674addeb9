package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gosrt/gosrt/internal/report"
)

func newReport(a *app) *cobra.Command {
	asHTML, out := false, ""
	show := &cobra.Command{
		Use: "show FILE [--html [-o OUT]]", Short: "show what a report says, as text or as one HTML page",
		Long: `Show what FILE, written by gosrt --report, says of its run: how it ended, what was
denied and when, the hosts with their bytes, and the files that it wrote by
directory. The HTML page holds everything it shows and runs no script.`,
		Example: `  gosrt --changes --report run.jsonl -- npm ci
  gosrt report show run.jsonl
  gosrt report show run.jsonl --html -o run.html`,
		Args: cobra.ExactArgs(1), DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if out != "" && !asHTML {
				return misuse{"-o needs --html", cmd.CommandPath() + " --help"}
			}
			return a.reportShow(args[0], asHTML, out)
		},
	}
	show.Flags().SortFlags = false
	show.Flags().BoolVar(&asHTML, "html", false, "print one HTML page")
	show.Flags().StringVarP(&out, "output", "o", "", "write the page to `OUT`, a file that is not there yet")
	return newGroup("report", "show a report", show)
}

func (a *app) reportShow(file string, asHTML bool, out string) error {
	rec, err := readReport(file)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	command := quoteLine(rec.Start.Command)
	if asHTML {
		err = report.Page(&text, rec, command)
	} else {
		err = writeOverview(&text, report.NewOverview(rec, command))
	}
	if err != nil {
		return err
	}
	if out != "" {
		return createFile(out, text.Bytes())
	}
	_, err = text.WriteTo(a.Out)
	return err
}

func readReport(file string) (report.Record, error) {
	f, err := os.Open(file)
	if err != nil {
		return report.Record{}, err
	}
	defer f.Close()
	rec, err := report.Read(f)
	if err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return rec, err
}

// createFile makes a file that is not there: a run may have left a link of that
// name, which would lead elsewhere.
func createFile(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// maxShown bounds each list of the text; the page has more.
const maxShown = 30

func writeOverview(w io.Writer, o report.Overview) error {
	fmt.Fprintf(w, "%s\n%s\n", o.Command, o.Ending)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range o.Facts {
		fmt.Fprintf(t, "  %s\t%s\n", f.Name, f.Text)
	}
	writeRows(t, "denied", o.Denials, o.DenialsLeft, func(d report.Denial) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", d.At, d.Count, d.Kind, d.Target, d.Program, d.Why)
	})
	writeRows(t, "hosts", o.Hosts, 0, func(s report.Share) string {
		return fmt.Sprintf("%s\t%s\t%s sent\t%s received", s.Name, s.Count, s.Sent, s.Received)
	})
	writeRows(t, "written", o.Written, 0, func(s report.Share) string { return s.Name + "\t" + s.Count })
	writeRows(t, "not held", o.Weakened, 0, func(f report.Fact) string { return f.Name + "\t" + f.Text })
	return t.Flush()
}

// writeRows prints nothing for an empty list.
func writeRows[T any](w io.Writer, title string, rows []T, left uint64, text func(T) string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "%s:\n", title)
	for _, row := range rows[:min(len(rows), maxShown)] {
		fmt.Fprintf(w, "  %s\n", text(row))
	}
	if left += uint64(max(0, len(rows)-maxShown)); left > 0 {
		fmt.Fprintf(w, "  and %d more\n", left)
	}
}
