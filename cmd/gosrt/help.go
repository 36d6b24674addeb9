package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// writeUsage prints what a user looks for, in the order of need: how to call it,
// an example, subcommands, flags, and last what the exit statuses mean. It is
// plain code because cobra's templates would link text/template and, with it,
// every exported method of the binary.
func writeUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(w, "\nCommands:\n")
		writeCommands(w, cmd)
	}
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprint(w, "\nFlags:\n")
		writeFlags(w, cmd.LocalFlags())
	}
	if !cmd.HasParent() {
		fmt.Fprint(w, "\nExit status:\n")
		writeExitMeanings(w)
		fmt.Fprint(w, "\nRun \"gosrt COMMAND --help\" for more about a command.\n")
	}
	return nil
}

func writeCommands(w io.Writer, cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			fmt.Fprintf(w, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
}

// flagHelp is one flag as the help and the man page show it.
type flagHelp struct{ spec, usage string }

// flagHelps lists the flags in the order they were declared. A flag whose name
// is one letter has no long form.
func flagHelps(flags *pflag.FlagSet) []flagHelp {
	var list []flagHelp
	flags.VisitAll(func(f *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(f)
		spec := "--" + f.Name
		switch {
		case f.Hidden:
			return
		case f.Shorthand == f.Name:
			spec = "-" + f.Name
		case f.Shorthand != "":
			spec = "-" + f.Shorthand + ", " + spec
		}
		list = append(list, flagHelp{strings.TrimSpace(spec + " " + value), usage})
	})
	return list
}

func writeFlags(w io.Writer, flags *pflag.FlagSet) {
	list := flagHelps(flags)
	width := 0
	for _, f := range list {
		width = max(width, len(f.spec))
	}
	for _, f := range list {
		fmt.Fprintf(w, "  %-*s  %s\n", width, f.spec, f.usage)
	}
}
