package main

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	std := stdio{os.Stdin, os.Stdout, os.Stderr}
	os.Exit(run(os.Args[1:], std))
}

// stdio is what the command line reads and writes. Out is the command's own.
type stdio struct {
	In       io.Reader
	Out, Err io.Writer
}

// app is one invocation of gosrt.
type app struct {
	stdio
	raw []string // the arguments as given, for hints
	ui  *ui
}

// run carries out one command line and returns the status to exit with.
func run(args []string, std stdio) int {
	a := &app{stdio: std, raw: args, ui: newUI(std.Err, os.Getenv("NO_COLOR"))}
	root := newRoot(a)
	root.SetArgs(append([]string{}, args...)) // nil would make cobra read os.Args
	err := root.Execute()
	if err != nil && !errors.As(err, new(exitError)) {
		a.ui.fail(err)
	}
	return exitStatus(err)
}

const rootLong = `Run COMMAND, and everything it starts, inside limits that the operating system
holds. Reads are allowed except for credentials, writes only land in the current
directory and a private temp directory, and there is no network, until flags or
a policy say otherwise. When the limits cannot be put up, COMMAND does not run.`

const rootExample = `  gosrt -- npm test
  gosrt --allow-domain '*.npmjs.org' -- npm ci
  gosrt --allow-write ../build --timeout 10m -- make
  gosrt -c 'go vet ./... && go test ./...'
  gosrt plan -- npm test`

func newRoot(a *app) *cobra.Command {
	opts := &runOptions{}
	root := &cobra.Command{
		Use:                   "gosrt [flags] -- COMMAND [ARG]...",
		Short:                 "run a command in a sandbox",
		Long:                  rootLong,
		Example:               rootExample,
		Args:                  cobra.ArbitraryArgs, // argvOf judges them, and names the right line
		SilenceErrors:         true,
		SilenceUsage:          true,
		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, args []string) error { return a.run(cmd, args, opts) },
	}
	opts.register(root)
	root.AddCommand(
		newPlan(a), newExplain(a), newLearn(a), newLimits(a), newPs(a), newLog(a), newReport(a), newAudit(a), newPolicy(a), newTrust(a), newDoctor(a), newTunnel(a), newCtl(a), newCache(a), newVersion(a),
	)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(writeUsage)
	return root
}

// flagError points to the help of the command whose flags were wrong.
func flagError(cmd *cobra.Command, err error) error {
	return misuse{err.Error(), cmd.CommandPath() + " --help"}
}

// newGroup is a command that only holds others.
func newGroup(use, short string, children ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{
		Use:                   use,
		Short:                 short,
		DisableFlagsInUseLine: true,
		Args:                  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			text := "no subcommand given"
			if len(args) > 0 {
				text = "no subcommand " + quoteWord(args[0])
			}
			return misuse{text, cmd.CommandPath() + " --help"}
		},
	}
	group.AddCommand(children...)
	return group
}
