package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gosrt/gosrt/internal/learn"
	"github.com/gosrt/gosrt/internal/report"
	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox"
)

// learning is one gosrt learn.
type learning struct {
	*app
	opts   *runOptions
	argv   []string
	out    string // the file to write; empty: only show
	rounds int

	entries []learn.Entry
	left    map[string]learn.Left
	hosts   []report.Host // what the last round reached
	status  int           // of the last round
}

func newLearn(a *app) *cobra.Command {
	l := &learning{app: a, opts: &runOptions{}, left: map[string]learn.Left{}}
	cmd := &cobra.Command{
		Use:   "learn [flags] [-o FILE] [--rounds N] -- COMMAND [ARG]...",
		Short: "run COMMAND in the sandbox and propose what it was missing",
		Long: `Run COMMAND in the enforcing sandbox and propose the smallest policy that lets it
pass: from what it was denied, with the reason on each line. Nothing runs open, and
nothing is written without -o. Hidden and protected places, directories of the system
and addresses of the host are never proposed. A command that passed needs nothing.`,
		Example: `  gosrt learn -- npm ci
  gosrt learn -o npm.toml --rounds 5 -- npm ci && gosrt --policy npm.toml -- npm ci`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if l.argv, err = argvOf(cmd, a.raw, args, l.opts.shellLine); err != nil {
				return err
			}
			return l.run()
		},
	}
	l.opts.register(cmd)
	cmd.Flags().StringVarP(&l.out, "o", "o", "", "write the policy to `FILE`, which must not be there yet")
	cmd.Flags().IntVar(&l.rounds, "rounds", 1, "run up to `N` times, each with what was learned, until nothing new is denied")
	return cmd
}

func (l *learning) run() error {
	l.ui.quiet, l.ui.verbose = l.opts.quiet, l.opts.verbose
	if err := l.opts.check(); err != nil {
		return err
	}
	if l.rounds < 1 {
		return errors.New("--rounds: must be at least 1")
	}
	if l.out != "" && exists(l.out) {
		return misuse{fmt.Sprintf("-o %q: is there already; the command did not run", l.out), "name a new file, and add --policy " + quoteWord(l.out) + " to learn on top of it"}
	}
	for round := 1; round <= l.rounds; round++ {
		more, err := l.round(round)
		if err != nil {
			return err
		}
		if l.status == 0 || !more {
			break
		}
	}
	if err := l.finish(); err != nil {
		return err
	}
	return exitWith(l.status)
}

// round runs the command once with what was learned so far, and says whether
// there is more to learn from.
func (l *learning) round(n int) (more bool, err error) {
	if l.rounds > 1 {
		l.ui.linef(kindNote, "round %d of %d", n, l.rounds)
	}
	c, err := l.prepare(l.learned(), l.argv)
	if err != nil {
		return false, err
	}
	defer l.keepCache(c)()
	c.ForwardSignals = true
	rec, err := l.record(c, l.opts)
	if err != nil {
		return false, refused(err)
	}
	defer rec.close()
	if err := c.Start(); err != nil {
		return false, refused(err)
	}
	rec.started(c)
	err = c.Wait()
	rec.ended(c, nil)
	var ended *sandbox.ExitError
	if err != nil && !errors.As(err, &ended) {
		return false, err
	}
	l.status, l.hosts = c.Result().Status, rec.traffic.List()
	if l.status == 0 { // what it was denied, it can do without
		return false, nil
	}
	denials, _, _ := rec.log.List()
	return l.learn(c, denials)
}

// learned are the options with the entries so far as flags.
func (l *learning) learned() *runOptions {
	opts := *l.opts
	lists := &opts.lists
	for _, row := range []struct {
		list string
		into *[]string
	}{
		{learn.Extends, &lists.Preset}, {learn.Writes, &lists.AllowWrite},
		{learn.Hosts, &lists.AllowDomain}, {learn.Sockets, &lists.AllowUnixSocket},
	} {
		*row.into = slices.Clone(*row.into)
		for _, e := range l.entries {
			if e.List == row.list {
				*row.into = append(*row.into, e.Value)
			}
		}
	}
	return &opts
}

// learn adds what the denials of one round ask for.
func (l *learning) learn(c *sandbox.Cmd, denials []policy.Violation) (more bool, err error) {
	facts, err := l.facts(c)
	if err != nil {
		return false, err
	}
	entries, left := learn.Propose(denials, facts)
	for _, v := range left {
		l.left[v.Denial.Kind+v.Denial.Target] = v
	}
	for _, e := range entries {
		known := slices.ContainsFunc(l.entries, func(o learn.Entry) bool { return o.List == e.List && o.Value == e.Value })
		if known || l.refused(e) {
			continue
		}
		l.entries, more = append(l.entries, e), true
	}
	return more, nil
}

// refused tries an entry: one that does not load, or that is a key to the host,
// is not proposed.
func (l *learning) refused(e learn.Entry) bool {
	with := *l
	with.entries = append(slices.Clone(l.entries), e)
	c, err := l.prepare(with.learned(), l.argv)
	if err == nil {
		var plan *policy.Plan
		if plan, err = c.Plan(); err == nil {
			key := slices.IndexFunc(plan.Weaknesses, func(w policy.Weakness) bool { return w.ID == "host-key-socket" })
			if e.List == learn.Sockets && key >= 0 {
				err = errors.New(plan.Weaknesses[key].Text)
			}
		}
	}
	if err != nil {
		l.left[e.Value] = learn.Left{Denial: policy.Violation{Kind: "entry", Target: e.Value}, Why: printable(err.Error())}
	}
	return err != nil
}

// facts asks a plan in which everything is a write root: what it still denies is
// protected.
func (l *learning) facts(c *sandbox.Cmd) (learn.Facts, error) {
	open, err := l.prepare(l.learned(), l.argv)
	if err != nil {
		return learn.Facts{}, err
	}
	open.Policy.Filesystem.AllowWrite = append(slices.Clone(open.Policy.Filesystem.AllowWrite), policy.PathRule{Text: "/", Path: "/"})
	plan, err := open.Plan()
	if err != nil {
		return learn.Facts{}, err
	}
	index := plan.Files.Index()
	facts := learn.Facts{
		Home: homeOf(c.Env),
		Exists: func(path string) (there, dir bool) {
			info, err := os.Stat(path)
			return err == nil, err == nil && info.IsDir()
		},
		Closed: func(path string) string {
			if d := index.DecideRead(path); d.Verdict != policy.Allow {
				return "hidden: " + d.Rule
			}
			if d := index.DecideWrite(path); d.Verdict != policy.Allow {
				return "protected: " + d.Reason
			}
			return ""
		},
	}
	for _, p := range hostPresets(surroundings{Home: facts.Home}.vars()) {
		facts.Presets = append(facts.Presets, learn.Preset{Name: p.name, Network: p.network})
	}
	return facts, nil
}

// finish shows the proposal and writes it where that was asked for.
func (l *learning) finish() error {
	l.entries = learn.Minimal(l.entries)
	for _, left := range sortedLeft(l.left) {
		l.ui.linef(kindNote, "not proposed: %s %s: %s", left.Denial.Kind, report.Cut(left.Denial.Target, maxTarget), left.Why)
	}
	switch {
	case len(l.entries) == 0 && l.status == 0:
		l.ui.linef(kindNote, "the command passed; there is nothing to add")
		return nil
	case len(l.entries) == 0:
		l.ui.linef(kindNote, "the command failed, and nothing that may open was denied")
		return nil
	}
	if err := l.choose(); err != nil {
		return err
	}
	fmt.Fprint(l.Err, diffOf(l.entries))
	if l.status != 0 {
		l.ui.linef(kindNote, "the command failed in this round; it may be missing more: --rounds 5")
	}
	if l.out == "" {
		l.ui.linef(kindHint, "-o FILE writes this as a policy")
		return nil
	}
	return l.write()
}

func sortedLeft(left map[string]learn.Left) []learn.Left {
	var list []learn.Left
	for _, l := range left {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b learn.Left) int { return strings.Compare(a.Denial.Target, b.Denial.Target) })
	return list
}

// diffOf shows what is added to the policy, each line with its reason.
func diffOf(entries []learn.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "+ %s %s  # %s\n", e.List, printable(learn.Quote(e.Value)), printable(e.Reason))
	}
	return b.String()
}

// choose asks group by group, where there is somebody to ask and a file to write.
func (l *learning) choose() error {
	if f, isFile := l.Err.(*os.File); l.out == "" || !isFile || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	defer tty.Close()
	l.entries = askGroups(tty, l.entries)
	return nil
}

// askGroups keeps the groups that are answered with yes.
func askGroups(tty io.ReadWriter, entries []learn.Entry) (kept []learn.Entry) {
	answers := bufio.NewScanner(tty)
	for _, list := range []string{learn.Extends, learn.Writes, learn.Hosts, learn.Sockets} {
		group := slices.DeleteFunc(slices.Clone(entries), func(e learn.Entry) bool { return e.List != list })
		if len(group) == 0 {
			continue
		}
		fmt.Fprintf(tty, "%sgosrt: add to %s? [y/N] ", diffOf(group), list)
		if answers.Scan() && strings.HasPrefix(strings.ToLower(answers.Text()), "y") {
			kept = append(kept, group...)
		}
	}
	return kept
}

// write makes the file. It was not there before the run, and one that the
// command has put there since, a link for one, is not written.
func (l *learning) write() error {
	var notes []string
	for _, h := range l.hosts {
		notes = append(notes, fmt.Sprintf("reached: %s, %d connections, %d bytes sent, %d received", h.Host, h.Connections, h.Sent, h.Received))
	}
	entries := slices.Clone(l.entries)
	for i := range entries {
		entries[i].Reason = printable(entries[i].Reason)
	}
	text := learn.Render("learned by gosrt from: "+printable(quoteLine(new(report.Redactor).Args(l.argv))), entries, notes)
	path, err := filepath.Abs(l.out)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	if _, err = f.WriteString(text); err != nil {
		return errors.Join(err, f.Close())
	}
	l.ui.linef(kindNote, "written to %s; use it with --policy %s", l.out, quoteWord(l.out))
	return f.Close()
}
