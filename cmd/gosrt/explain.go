package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gosrt/gosrt/internal/learn"
	"github.com/gosrt/gosrt/sandbox"
)

func newExplain(a *app) *cobra.Command {
	flags := &policyFlags{}
	asJSON := false
	cmd := &cobra.Command{
		Use:   "explain [flags] " + strings.Join(sandbox.Questions(), "|") + " TARGET",
		Short: "say whether something would be allowed, and which rule decides",
		Long: `Say whether a command run here could read, write or execute a PATH, connect to
HOST[:PORT] or to the Unix socket at PATH, would get the variable NAME, or could
make the system call NAME: with the deciding rule, where it was written, and what
would change it. The status is 0 for allowed and 1 for denied. Inside a sandbox
it answers for that sandbox.`,
		Example: `  gosrt explain write ~/.zshrc
  gosrt explain --preset node connect www.npmjs.org
  gosrt explain --json read ~/.ssh/config`,
		Args:                  cobra.ArbitraryArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return misuse{"explain takes what to ask about and one target", cmd.CommandPath() + " --help"}
			}
			return a.explain(flags, args[0], args[1], asJSON)
		},
	}
	cmd.Flags().SortFlags = false
	flags.register(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; fields are only ever added")
	return cmd
}

func (a *app) explain(flags *policyFlags, about, target string, asJSON bool) error {
	answer, err := sandbox.ExplainInside(context.Background(), os.Getenv("http_proxy"), about, target)
	if errors.Is(err, sandbox.ErrOutside) {
		answer, err = a.explainHere(flags, about, target)
	}
	if err != nil {
		return err
	}
	if asJSON {
		err = writeJSON(a.Out, answer)
	} else {
		err = writeAnswer(a.Out, answer)
	}
	if err != nil || answer.Verdict == "allow" {
		return err
	}
	return exitWith(exitProblem)
}

// explainHere asks the policy that a command would run with in this place.
func (a *app) explainHere(flags *policyFlags, about, target string) (sandbox.Answer, error) {
	c, err := a.prepare(&runOptions{policyFlags: *flags}, []string{"true"})
	if err != nil {
		return sandbox.Answer{}, err
	}
	plan, err := c.Plan()
	if err != nil {
		return sandbox.Answer{}, err
	}
	a.grantsNotApplied(c.Policy)
	return sandbox.Explain(plan, about, target)
}

var verdictWords = map[string]string{"allow": "allowed", "deny": "denied", "ask": "asked for"}

func writeAnswer(w io.Writer, a sandbox.Answer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s: %s\n", verdictWords[a.Verdict], a.About, printable(a.Target), printable(a.Reason))
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-9s %s\n", name, printable(text))
		}
	}
	row("is", a.Resolved)
	if a.Rule != "" {
		row("rule", a.Rule+originSuffix(a.Origin))
	}
	row("to allow", a.Hint)
	row("in TOML", tomlHint(a.Hint))
	for _, n := range a.Notes {
		row("note", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tomlKeys are the policy file's words for flags that hints use.
var tomlKeys = []struct{ flag, table, key string }{
	{"--allow-read ", "filesystem", "allowRead"},
	{"--allow-write ", "filesystem", "allowWrite"},
	{"--allow-domain ", "network", "allowedDomains"},
	{"--allow-unix-socket ", "network", "allowUnixSockets"},
}

// tomlHint is a hint as lines of a policy file; empty where there is no such line.
func tomlHint(hint string) string {
	for _, k := range tomlKeys {
		if value, ok := strings.CutPrefix(hint, k.flag); ok {
			return fmt.Sprintf("[%s] %s = [%s]", k.table, k.key, learn.Quote(unquoteWord(value)))
		}
	}
	return ""
}

// unquoteWord reads back a word that a hint has quoted for the shell.
func unquoteWord(s string) string {
	inner, ok := strings.CutPrefix(s, "'")
	if !ok {
		return s
	}
	return strings.ReplaceAll(strings.TrimSuffix(inner, "'"), `'\''`, "'")
}
