package main

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gosrt/gosrt/internal/report"
	"github.com/gosrt/gosrt/internal/runs"
	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/proxy"
	"github.com/gosrt/gosrt/sandbox"
)

// record is what is kept of one run: the denials for the summary, and the lines
// that go to --report, to the audit log and to gosrt ps.
type record struct {
	log     *report.Log
	lines   *report.Writer
	traffic report.Traffic
	redact  *report.Redactor
	began   time.Time
	whole   bool             // somebody keeps the lines
	written []report.Written // with --changes
	dir     runs.Dir
	closers []io.Closer
	entry   io.Closer // of gosrt ps
}

// record opens what the run is reported to and listens to it. Whatever cannot be
// opened is an error, while nothing has been started.
func (a *app) record(c *sandbox.Cmd, opts *runOptions) (*record, error) {
	run := strings.ToLower(rand.Text()[:8])
	redact := report.NewRedactor(func() []string { return secrets(c.Policy, os.Environ()) })
	r := &record{
		log: report.NewLog(run, redact), redact: redact, began: time.Now(),
		lines: &report.Writer{Run: run, Failed: a.reportFailed},
		dir:   runs.In(sandbox.StateDir(os.Environ())),
	}
	if err := r.openAll(c, opts); err != nil {
		r.close()
		return nil, err
	}
	// Best effort: without it the run is only missing in gosrt ps.
	if r.dir.Prepare() != nil {
		r.dir = runs.Dir{}
	}
	c.OnViolation, c.OnConnect = r.violation, r.connection
	return r, nil
}

func (a *app) reportFailed(err error) {
	a.ui.linef(kindWarning, "the report is not complete: %v", err)
}

func (r *record) openAll(c *sandbox.Cmd, opts *runOptions) error {
	if opts.report != "" {
		err := r.open(c, opts.report, !strings.HasPrefix(opts.report, "fd:"), report.Open)
		if err != nil {
			return err
		}
	}
	if c.Policy.Report.Audit != "" {
		return r.open(c, c.Policy.Report.Audit, true, report.OpenAudit)
	}
	return nil
}

// open adds a destination. A file is kept from the command, which could otherwise
// rewrite what is said of it.
func (r *record) open(c *sandbox.Cmd, dest string, isFile bool, open func(string) (report.Sink, io.Closer, error)) error {
	sink, closer, err := open(dest)
	if err != nil {
		return err
	}
	r.whole = true
	r.lines.Add(sink)
	r.closers = append(r.closers, closer)
	if !isFile {
		return nil
	}
	path, err := filepath.Abs(dest)
	if err != nil {
		return err
	}
	c.Policy.Filesystem.DenyWrite = append(c.Policy.Filesystem.DenyWrite, policy.PathRule{
		Text: dest, Path: path, Reason: "the report of this run",
		Origin: policy.Origin{Layer: policy.LayerFlag, Name: "--report"},
	})
	return nil
}

// violation is told of each denial, from several goroutines.
func (r *record) violation(v policy.Violation) {
	if show := r.log.Add(v); show != nil {
		r.lines.Violation(show)
	}
}

// connection is told of each allowed connection when it ends.
func (r *record) connection(c proxy.Connection) {
	r.traffic.Add(c.Dest.String(), c.Sent, c.Received)
	r.lines.Decision(report.Decision{
		Time: c.Start, Kind: "connect", Target: c.Dest.String(), Protocol: c.Protocol, Verdict: "allow",
		Sent: c.Sent, Received: c.Received, Millis: c.Duration.Milliseconds(),
	})
}

// started writes what is known once the command runs, or was refused. The entry
// of gosrt ps is made now, while the command starts, so that it costs no time.
func (r *record) started(c *sandbox.Cmd) {
	if r.dir != (runs.Dir{}) {
		if entry, err := r.dir.New(r.lines.Run); err == nil {
			r.lines.Add(report.Lines(entry))
			r.entry = entry
		}
	}
	r.lines.Start(r.startEvent(c, c.Result().Plan))
}

func (r *record) startEvent(c *sandbox.Cmd, plan *policy.Plan) report.Start {
	e := report.Start{
		Time: r.began, Version: buildVersion(), PID: os.Getpid(),
		Command: r.redact.Args(c.Args), Directory: r.redact.Line(c.Dir),
		Layers: []report.Layer{}, Enforced: []string{}, Weakened: []report.Weakness{},
	}
	if r.whole {
		sum := sha256.Sum256([]byte(policy.Show(c.Policy)))
		e.PolicyDigest = hex.EncodeToString(sum[:])
	}
	for _, l := range c.Policy.Layers {
		e.Layers = append(e.Layers, report.Layer{Name: r.redact.Line(l.String()), Digest: l.Digest})
	}
	if plan == nil {
		return e
	}
	e.OS, e.Backend, e.Enforced = plan.OS, sandbox.Backend(plan), sandbox.Enforced(plan)
	for _, w := range plan.Weaknesses {
		e.Weakened = append(e.Weakened, report.Weakness(w))
	}
	return e
}

// ended writes the end of the run; refusal is why there was none.
func (r *record) ended(c *sandbox.Cmd, refusal error) {
	result := c.Result()
	detail := cmp.Or(result.Detail, signalName(result))
	if refusal != nil {
		detail = refusal.Error()
	}
	list, total, _ := r.log.List()
	r.lines.Repeated(list)
	user, system, peak := usage()
	r.lines.Exit(report.Exit{
		Time: time.Now(), Outcome: string(result.Outcome), Status: result.Status,
		Detail: r.redact.Line(detail), Millis: cmp.Or(result.Time, time.Since(r.began)).Milliseconds(),
		UserMillis: user.Milliseconds(), SystemMillis: system.Milliseconds(), PeakBytes: peak,
		Denials: total, Hosts: r.traffic.List(), Written: r.written,
	})
}

func signalName(r sandbox.Result) string {
	if r.Signal == 0 {
		return ""
	}
	return r.Signal.String()
}

// close says so when a destination lost its last lines.
func (r *record) close() {
	for _, c := range r.closers {
		if err := c.Close(); err != nil {
			r.lines.Failed(err)
		}
	}
	if r.entry != nil {
		r.entry.Close()
	}
	r.closers, r.entry = nil, nil
}

// secrets are the values that must appear in no report: of variables that look
// like secrets, and passwords of proxies.
func secrets(p policy.Policy, env []string) []string {
	var list []string
	password := func(text string) {
		if u, err := url.Parse(text); err == nil && u.User != nil {
			if secret, ok := u.User.Password(); ok {
				list = append(list, secret)
			}
		}
	}
	password(p.Network.Upstream)
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if policy.LooksSecret(name, value) {
			list = append(list, value)
		}
		if strings.HasSuffix(strings.ToLower(name), "_proxy") {
			password(value)
		}
	}
	return list
}
