package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// argvOf returns the command that a line asks for. The "--" is required: without
// it a command could be taken for a subcommand, and a subcommand added later
// would change what an old line does.
func argvOf(cmd *cobra.Command, raw, args []string, shellLine string) ([]string, error) {
	hasLine := cmd.Flags().Changed("c")
	switch {
	case hasLine && len(args) > 0:
		return nil, misuse{"-c takes one shell line and no further arguments", ""}
	case hasLine:
		return []string{"/bin/sh", "-c", shellLine}, nil
	case len(args) == 0:
		return nil, misuse{"no command given", cmd.CommandPath() + " -- COMMAND [ARG]..."}
	case cmd.ArgsLenAtDash() != 0:
		return nil, missingDashes(raw, args)
	}
	return args, nil
}

// missingDashes names the right line. Flags end at the first other word, so args
// are always the tail of raw.
func missingDashes(raw, args []string) error {
	flags := raw[:len(raw)-len(args)]
	line := append([]string{"gosrt"}, flags...)
	line = append(append(line, "--"), args...)
	return misuse{
		text: fmt.Sprintf("%q: a command needs \"--\" before it", args[0]),
		hint: quoteLine(line),
	}
}
