package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gosrt/gosrt/policy"
)

// limit is something that a sandbox of gosrt does not stop.
type limit struct {
	ID   string // stable; README lists the same
	Text string // one sentence, the same for everyone
	// found says what it comes to here, one text each; empty: it does not apply.
	// Nil: it applies everywhere, to everything.
	found func(limitFacts) []string
}

// limitFacts are what limits are computed from.
type limitFacts struct {
	plan  *policy.Plan
	home  string
	audit string // the audit log; empty: none
}

// limits are in the order in which a user should worry about them. What one host
// or policy weakens has identifiers of its own, in hostLimits.
var limits = []limit{
	{"kernel-boundary", "namespaces, mounts and filters share the host's kernel; a fault in it is a way out", nil},
	{"readable-secrets", "an unlisted secret is readable: denyRead and the built-in list hide what they name", readableSecrets},
	{"readable-leaves", "what the command may read, it may send to a host that it may reach", reachable},
	{"drop-box", "an allowed host where anyone can store data is a way out for whatever is readable", dropBoxes},
	{"opaque-tls", "content of allowed connections is not looked at; a TLS stream is opaque", reachable},
	{"workspace-untrusted", "the checkout is untrusted input after the run: programs outside obey files in it that the command may have changed", obeyed},
	{"resources", "memory, processor time and disk are not limited; --timeout ends the command", nil},
	{"standard-files", "mode, times and attributes of a file that is standard input, output or error can be changed: the descriptor leads to the host's own mount", nil},
	{"set-group-id", "a file in a write root can get the set-group-ID bit, which directories need; it gives the caller's group, not the caller's rights", nil},
	{"terminal-output", "what the command prints reaches the terminal as it is, escape sequences included", nil},
	{"reads-unreported", "on Linux a refused read is seen by the command alone: it is in no summary and no report", nil},
	{"calls-unreported", "a system call that the filter refuses is seen by the command alone; gosrt explain syscall NAME says what the filter does", nil},
	{"audit-tail", "the audit log's chain shows changed and missing lines, except missing ones at its end", auditTail},
}

// hostLimits are the identifiers that Plan.Weaknesses uses, each with what it is
// about; the plan says how it applies.
var hostLimits = []limit{
	{ID: "absent-guard-race", Text: "a protected name that does not exist yet can be held for milliseconds by a command that races the check"},
	{ID: "absent-unguarded", Text: "without seccomp notification, protected names that do not exist yet can be created"},
	{ID: "no-landlock", Text: "without Landlock, FIFOs outside write roots can be written into"},
	{ID: "hard-links", Text: "a file in a write root that has another name outside changes there too"},
	{ID: "deep-repositories", Text: "deep in a write root, only git's own files are protected in a repository"},
	{ID: "late-names", Text: "a name that the host makes during the run is not hidden by a pattern"},
	{ID: "no-transparent", Text: "programs that ignore proxy variables have no network"},
	{ID: "open-network", Text: "every host is allowed"},
	{ID: "open-reads", Text: "nothing is hidden"},
	{ID: "sni-ignored", Text: "a TLS server name may differ from the host that was allowed"},
	{ID: "host-key-socket", Text: "an allowed Unix socket is a key to the host"},
	{ID: "unix-sockets", Text: "a program behind an allowed Unix socket acts outside the sandbox"},
	{ID: "darwin-trustd", Text: "macOS: the trust daemon can fetch from the network"},
	{ID: "darwin-apple-events", Text: "macOS: Apple Events can make programs outside act"},
	{ID: "darwin-keychain", Text: "macOS: keychain items are readable"},
	{ID: "darwin-launch-services", Text: "macOS: programs can be started outside"},
	{ID: "darwin-publish", Text: "macOS: a published port is the host's own"},
	{ID: "darwin-socket-moves", Text: "macOS: a directory with a socket of the host can be moved to where the command may connect"},
	{ID: "darwin-pattern-moves", Text: "macOS: a directory can be moved out from under a pattern"},
	{ID: "darwin-no-birth", Text: "macOS: a repository cannot be created or cloned inside a write root"},
	{ID: "darwin-mach", Text: "macOS: allowed Mach services act outside"},
}

// maxFound bounds what is listed for one limit.
const maxFound = 20

// secretNames are names of files that often hold secrets and that no built-in
// entry hides everywhere.
var secretNames = []string{
	".env", ".env.local", ".env.production", "secrets.yml", "secrets.yaml", "credentials.json", "service-account.json",
	"terraform.tfstate", "terraform.tfvars", "id_rsa", "id_ed25519", "key.pem", "private.key", "wp-config.php",
	".bash_history", ".zsh_history", ".psql_history", ".mysql_history", ".python_history", ".my.cnf", ".pgpass", ".s3cfg", ".boto",
}

func readableSecrets(f limitFacts) []string {
	var list []string
	for _, dir := range []string{f.plan.Dir, f.home} {
		for _, name := range secretNames {
			path := filepath.Join(dir, name)
			if dir != "" && exists(path) && f.plan.DecideRead(path).Verdict == policy.Allow && !slices.Contains(list, path) {
				list = append(list, path)
			}
		}
	}
	return list
}

func reachable(f limitFacts) []string {
	var list []string
	for _, rule := range f.plan.Network.Allowed {
		list = append(list, rule.Text)
	}
	return list
}

// dropBoxHosts are hosts where whoever has an account, or anyone, can store what
// others fetch. A name stands for those below it too.
var dropBoxHosts = []string{
	"github.com", "api.github.com", "uploads.github.com", "gist.github.com", "gitlab.com", "bitbucket.org", "codeberg.org",
	"amazonaws.com", "storage.googleapis.com", "blob.core.windows.net", "r2.cloudflarestorage.com", "digitaloceanspaces.com",
	"workers.dev", "pages.dev", "vercel.app", "netlify.app", "herokuapp.com", "web.app", "firebaseio.com",
	"www.npmjs.org", "upload.pypi.org", "crates.io", "rubygems.org", "docker.io", "ghcr.io", "huggingface.co",
	"api.telegram.org", "hooks.slack.com", "slack.com", "discord.com", "pastebin.com", "webhook.site", "ngrok.io", "ngrok-free.app",
	"dropbox.com", "drive.google.com", "docs.google.com", "transfer.sh", "0x0.st", "api.openai.com", "api.anthropic.com", "sentry.io",
}

func dropBoxes(f limitFacts) []string {
	var list []string
	for _, host := range dropBoxHosts {
		for _, name := range []string{host, "any." + host} {
			h, err := policy.NewHostPort(name, 443)
			if err == nil && f.plan.Network.Decide(h).Verdict == policy.Allow {
				list = append(list, host)
				break
			}
		}
	}
	return list
}

// obeyed lists what in the working directory programs outside obey and the
// command may write, by the table of --changes.
func obeyed(f limitFacts) []string {
	entries, _ := os.ReadDir(f.plan.Dir)
	var list []string
	for _, e := range entries {
		path := filepath.Join(f.plan.Dir, e.Name())
		if who := obeyedBy(e.Name()); who != "" && f.plan.DecideWrite(path).Verdict == policy.Allow {
			list = append(list, e.Name()+": "+who)
		}
	}
	return list
}

func auditTail(f limitFacts) []string {
	if f.audit == "" {
		return nil
	}
	return []string{f.audit}
}

// limitReport is one limit as it applies here. Fields are only added.
type limitReport struct {
	ID    string   `json:"id"`
	Text  string   `json:"text"`
	Found []string `json:"found,omitempty"`
}

func limitsOf(f limitFacts) []limitReport {
	var list []limitReport
	for _, l := range limits {
		r := limitReport{ID: l.ID, Text: l.Text}
		if l.found != nil {
			r.Found = l.found(f)
		}
		if l.found == nil || len(r.Found) > 0 {
			list = append(list, r)
		}
	}
	for _, w := range f.plan.Weaknesses {
		list = append(list, limitReport{ID: w.ID, Text: w.Text})
	}
	return list
}

func newLimits(a *app) *cobra.Command {
	flags := &policyFlags{}
	asJSON := false
	cmd := &cobra.Command{
		Use:   "limits [flags]",
		Short: "list what this policy on this host does not stop",
		Long: `List what a sandbox with the policy of this place does not stop, on this host: each
with a stable identifier, the ones that README explains, and what it comes to here.`,
		Args:                  cobra.NoArgs,
		DisableFlagsInUseLine: true,
		RunE:                  func(*cobra.Command, []string) error { return a.limits(flags, asJSON) },
	}
	cmd.Flags().SortFlags = false
	flags.register(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; fields are only ever added")
	return cmd
}

func (a *app) limits(flags *policyFlags, asJSON bool) error {
	c, err := a.prepare(&runOptions{policyFlags: *flags}, []string{"true"})
	if err != nil {
		return err
	}
	plan, err := c.Plan()
	if err != nil {
		return err
	}
	a.grantsNotApplied(c.Policy)
	list := limitsOf(limitFacts{plan, homeOf(c.Env), c.Policy.Report.Audit})
	if asJSON {
		return writeJSON(a.Out, struct {
			Limits []limitReport `json:"limits"`
		}{list})
	}
	return writeLimits(a.Out, list)
}

func writeLimits(w io.Writer, list []limitReport) error {
	var b strings.Builder
	for _, l := range list {
		fmt.Fprintf(&b, "%s: %s\n", l.ID, printable(l.Text))
		for i, text := range l.Found {
			if i == maxFound {
				fmt.Fprintf(&b, "  and %d more\n", len(l.Found)-i)
				break
			}
			fmt.Fprintf(&b, "  %s\n", printable(text))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
