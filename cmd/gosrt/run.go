package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox"
)

// run carries out "gosrt [flags] -- COMMAND". It is the only place where flags,
// policy files and the library meet.
func (a *app) run(cmd *cobra.Command, args []string, opts *runOptions) error {
	a.ui.quiet, a.ui.verbose = opts.quiet, opts.verbose
	if err := opts.check(); err != nil {
		return err
	}
	argv, err := argvOf(cmd, a.raw, args, opts.shellLine)
	if err != nil {
		return err
	}
	control, err := openControl(opts.control)
	if err != nil {
		return err
	}
	c, err := a.prepare(opts, argv)
	if err != nil {
		return err
	}
	a.grantsNotApplied(c.Policy)
	defer a.keepCache(c)()
	c.ForwardSignals = true
	c.OnPlan = a.notes
	a.listenForAnswers(c)
	rec, err := a.record(c, opts)
	if err != nil {
		return refused(err)
	}
	defer rec.close()
	if err := c.Start(); err != nil {
		rec.started(c)
		rec.ended(c, err)
		return refused(err)
	}
	rec.started(c)
	defer a.takeChanges(c, control, rec.dir, rec.lines.Run)()
	err = c.Wait()
	if opts.changes {
		rec.written = a.changes(c.Dir, rec.redact, rec.began.Truncate(time.Second/100)) // the kernel's clock for files is coarse
	}
	rec.ended(c, nil)
	return a.finish(c, rec, err)
}

// check refuses flag values that contradict themselves or each other.
func (o *runOptions) check() error {
	switch {
	case o.timeout < 0:
		return fmt.Errorf("--timeout %v: must not be negative", o.timeout)
	case o.quiet && o.verbose:
		return errors.New("--quiet and --verbose exclude each other")
	}
	return nil
}

// prepare loads the policy and hands the command to the library. Nothing has
// been started when it returns.
func (a *app) prepare(opts *runOptions, argv []string) (*sandbox.Cmd, error) {
	here, err := lookAround()
	if err != nil {
		return nil, err
	}
	p, err := here.load(&opts.policyFlags)
	if err != nil {
		return nil, err
	}
	c := sandbox.Command(context.Background(), p, argv[0], argv[1:]...)
	c.Dir = here.Dir
	c.Cache = here.cache()
	c.Tunnel, _ = os.Executable() // without it git's ssh is captured as any other
	c.Timeout = opts.timeout
	c.Stdin, c.Stdout, c.Stderr = a.In, a.Out, a.Err
	return c, nil
}

// keepCache opens the project's cache, so that it is listed and not cleaned while
// the command runs. Without one the command still runs, with a colder start.
func (a *app) keepCache(c *sandbox.Cmd) (release func()) {
	release = func() {}
	if c.Cache == "" {
		return release
	}
	store, err := cacheStore()
	if err == nil {
		var project string
		if project, err = projectOf(c.Dir); err == nil {
			_, release, err = store.Open(project)
		}
	}
	if err != nil {
		c.Cache = ""
		a.ui.linef(kindNote, "no private cache: %v", err)
		return func() {}
	}
	return release
}

// grantsNotApplied names what an untrusted project file asks for, in one line.
func (a *app) grantsNotApplied(p policy.Policy) {
	if len(p.Untrusted) > 0 {
		a.ui.linef(kindWarning, "%s", untrustedLine(p.Untrusted))
		a.ui.linef(kindHint, "gosrt trust")
	}
}

// notes prints what the plan remarks on.
func (a *app) notes(plan *policy.Plan) {
	for _, n := range plan.Notes {
		a.ui.linef(kindNote, "%s", n)
	}
	if a.ui.verbose {
		a.weaknesses(plan)
	}
}

func (a *app) weaknesses(plan *policy.Plan) {
	for _, w := range plan.Weaknesses {
		a.ui.linef(kindWarning, "%s", w.Text)
	}
}

// finish says what there is to say about a run that ended, and picks the status.
func (a *app) finish(c *sandbox.Cmd, rec *record, err error) error {
	var ended *sandbox.ExitError
	if err != nil && !errors.As(err, &ended) {
		return err
	}
	result := c.Result()
	switch result.Outcome {
	case sandbox.NotFound, sandbox.NotExecutable:
		a.ui.line(kindError, result.Detail)
	case sandbox.TimedOut:
		a.ui.line(kindError, fmt.Sprintf("%q: ended by --timeout %v", c.Args[0], c.Timeout))
	}
	if result.Status != exitOK || a.ui.verbose {
		a.environment(result.Plan)
		a.denials(rec.log, newAdviser(c))
	}
	return exitWith(result.Status)
}
