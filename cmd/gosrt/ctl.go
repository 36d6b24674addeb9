package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/gosrt/gosrt/internal/policyfile"
	"github.com/gosrt/gosrt/internal/runs"
	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox"
)

func newCtl(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ctl RUN allow-domain HOST... | deny-domain HOST... | set FILE",
		Short: "change the network rules of a run that goes on",
		Long: `Change the network rules of a run that gosrt ps lists. allow-domain and
deny-domain add hosts, as the flags of the same name do. set replaces the lists
allowedDomains and deniedDomains by those that FILE (TOML or JSON; - is standard
input) gives; denials of the managed file stay. Connections that the new rules
forbid are ended. A change that is refused leaves the rules as they are.`,
		Example: `  gosrt ctl k3vd allow-domain example.org
  echo '{"network": {"allowedDomains": []}}' | gosrt ctl k3vd set -`,
		Args:                  cobra.ArbitraryArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := a.ctlRequest(args)
			if err != nil {
				return misuse{err.Error(), cmd.CommandPath() + " --help"}
			}
			return ctl(args[0], req)
		},
	}
}

func (a *app) ctlRequest(args []string) (req ctlRequest, err error) {
	if len(args) < 3 {
		return req, errors.New("ctl takes a run, what to do, and with what")
	}
	switch what, with := args[1], args[2:]; {
	case what == "allow-domain":
		req.Allow = with
	case what == "deny-domain":
		req.Deny = with
	case what == "set" && len(with) == 1:
		req.Document, err = a.readDocument(with[0])
	default:
		err = fmt.Errorf("%q: not one of allow-domain, deny-domain and set", what)
	}
	return req, err
}

// readDocument refuses an empty file: it would change nothing and look as if it had.
func (a *app) readDocument(name string) (string, error) {
	if name == "-" {
		data, err := io.ReadAll(io.LimitReader(a.In, maxDocument))
		if err == nil && len(data) == 0 {
			err = errors.New("standard input: empty")
		}
		return string(data), err
	}
	src, err := policyfile.ReadNamed(policy.LayerFile, name, "/")
	if err != nil {
		return "", err
	}
	return string(src.Data), nil
}

func ctl(begin string, req ctlRequest) error {
	dir := runs.In(sandbox.StateDir(os.Environ()))
	run, record, err := dir.Open(begin)
	if err != nil {
		return err
	}
	record.Close()
	c, err := dir.Dial(run)
	if err != nil {
		return fmt.Errorf("run %q: %w", run, err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(ctlTime))
	var reply ctlReply
	if err := json.NewEncoder(c).Encode(req); err != nil {
		return err
	}
	if err := json.NewDecoder(c).Decode(&reply); err != nil {
		return fmt.Errorf("run %q: no answer: %w", run, err)
	}
	if reply.Error != "" {
		return errors.New(reply.Error)
	}
	return nil
}
