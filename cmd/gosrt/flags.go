package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gosrt/gosrt/policy"
)

// policyFlags are the flags that shape a policy, as the user spelled them.
type policyFlags struct {
	policies, settings []string
	lists              policy.Flags
}

// register adds the flags to a command. Each may be repeated; a value is one
// entry and is never split, since paths hold commas.
func (f *policyFlags) register(flags *pflag.FlagSet) {
	for _, row := range []struct {
		into        *[]string
		name, usage string // the value's name in back quotes, as pflag has it
	}{
		{&f.policies, "policy", "add the policy in `FILE` (TOML)"},
		{&f.settings, "settings", "add the policy in `FILE`, srt's settings (JSON)"},
		{&f.lists.Preset, "preset", "add the preset `NAME`; see gosrt policy presets"},
		{&f.lists.AllowWrite, "allow-write", "let the command write `PATH` and what is beneath it"},
		{&f.lists.DenyWrite, "deny-write", "refuse writing `PATH`; wins over every --allow-write"},
		{&f.lists.AllowRead, "allow-read", "let the command read `PATH` where a --deny-read covers it"},
		{&f.lists.DenyRead, "deny-read", "refuse reading `PATH` and what is beneath it"},
		{&f.lists.AllowDomain, "allow-domain", "let the command reach `HOST[:PORT]`; *.HOST is every name below HOST"},
		{&f.lists.DenyDomain, "deny-domain", "refuse `HOST[:PORT]`; wins over every --allow-domain"},
		{&f.lists.AllowUnixSocket, "allow-unix-socket", "let the command connect to the host's Unix socket at `PATH`, or to those beneath it"},
		{&f.lists.HostPort, "host-port", "make `PORT` of the host's 127.0.0.1 reachable inside"},
		{&f.lists.Publish, "publish", "make a port inside reachable on the host's 127.0.0.1: `PORT`, OUTSIDE:INSIDE or auto"},
		{&f.lists.Resolve, "resolve", "answer `NAME=ADDR` from here instead of asking DNS"},
		{&f.lists.Env, "env", "pass the variable `NAME[=VALUE]` on, or set it to VALUE"},
	} {
		flags.StringArrayVar(row.into, row.name, nil, row.usage)
	}
	flags.Func("upstream", "go out through the proxy `URL` (http, https, socks5), or env for the caller's variables", given(&f.lists.Upstream))
	flags.Func("tmp", "show as /tmp, by `MODE`: private is a fresh one, host the host's", given(&f.lists.Tmp))
	flags.BoolVar(&f.lists.NoTransparent, "no-transparent", false, "leave programs that ignore proxy variables without a network")
	flags.BoolVar(&f.lists.Ask, "ask", false, "ask on the terminal about hosts that no rule decides")
}

// given refuses an empty value: it would read as if the flag were not there, and
// an unset variable behind --upstream would become a direct way out.
func given(into *string) func(string) error {
	return func(value string) error {
		if value == "" {
			return errors.New("must not be empty")
		}
		*into = value
		return nil
	}
}

// runOptions are the flags of a command that runs or plans something.
type runOptions struct {
	policyFlags
	shellLine      string
	timeout        time.Duration
	report         string // FILE or fd:N; empty: none
	control        int    // descriptor; 0: none
	changes        bool
	quiet, verbose bool
}

func (o *runOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.SetInterspersed(false)
	flags.StringVarP(&o.shellLine, "c", "c", "", "run `LINE` through /bin/sh -c")
	o.policyFlags.register(flags)
	flags.DurationVar(&o.timeout, "timeout", 0, "end the command after `DURATION` (30s, 10m)")
	flags.StringVar(&o.report, "report", "", "write what happens as JSON lines to `FILE`, or to descriptor N as fd:N")
	flags.IntVar(&o.control, "control-fd", 0, "take changed network rules from descriptor `N` while the command runs")
	flags.BoolVar(&o.changes, "changes", false, "afterwards list what the run changed that programs outside obey")
	flags.BoolVar(&o.quiet, "quiet", false, "print nothing but errors")
	flags.BoolVar(&o.verbose, "verbose", false, "also print what was changed for the command and every denial")
}
