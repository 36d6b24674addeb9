package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/proxy"
	"github.com/gosrt/gosrt/sandbox"
)

// tunnelVariable tells the command of a tunnel where it listens.
const tunnelVariable = "GOSRT_TUNNEL"

func newTunnel(a *app) *cobra.Command {
	listen := "127.0.0.1:0"
	cmd := &cobra.Command{
		Use:   "tunnel [--listen ADDRESS] HOST:PORT [-- COMMAND [ARG]...]",
		Short: "inside a sandbox: listen on a port that leads to HOST:PORT",
		Long: `Inside a sandbox, listen on an address and carry every connection to HOST:PORT
through gosrt's proxy, for programs that know no proxy where connections are not
captured. With COMMAND, run it with the address in $GOSRT_TUNNEL and end with it;
without, print the address and go on. A HOST that is denied is an error before
anything listens.`,
		Example: `  gosrt tunnel db.example:5432 -- sh -c 'psql -h ${GOSRT_TUNNEL%:*} -p ${GOSRT_TUNNEL##*:}'
  ssh -o 'ProxyCommand=gosrt tunnel --listen - %h:%p' git@example.org`,
		Args:                  cobra.ArbitraryArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if dash == -1 {
				dash = len(args)
			}
			if dash != 1 {
				return misuse{"tunnel takes one HOST:PORT", cmd.CommandPath() + " --help"}
			}
			return a.tunnel(args[0], listen, args[1:])
		},
	}
	cmd.Flags().StringVar(&listen, "listen", listen, "listen on `ADDRESS`; - carries standard input and output")
	return cmd
}

func (a *app) tunnel(target, listen string, argv []string) error {
	dest, err := policy.ParseHostPort(target)
	if err != nil {
		return err
	}
	proxyAddr, err := askTunnel(dest)
	if err != nil {
		return err
	}
	dial := func() (net.Conn, error) { return proxy.Connect(context.Background(), proxyAddr, dest) }
	if listen == "-" {
		return a.tunnelStdio(dial, argv)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("--listen %q: %w", listen, err)
	}
	defer l.Close()
	if len(argv) == 0 {
		fmt.Fprintln(a.Out, l.Addr())
		return a.carryAll(l, dial)
	}
	go a.carryAll(l, dial)
	return a.tunnelCommand(argv, l.Addr().String())
}

// askTunnel returns the proxy's address, once gosrt outside has said that it
// would not refuse dest.
func askTunnel(dest policy.HostPort) (proxyAddr string, err error) {
	proxyURL := os.Getenv("http_proxy")
	answer, err := sandbox.ExplainInside(context.Background(), proxyURL, "connect", dest.String())
	switch {
	case errors.Is(err, sandbox.ErrOutside):
		return "", misuse{"a tunnel leads out of a sandbox, and this is not inside one", "gosrt [flags] -- gosrt tunnel " + dest.String()}
	case err != nil:
		return "", err
	case answer.Verdict == "deny":
		text := dest.String() + ": denied: " + answer.Reason
		if answer.Rule != "" {
			text += " (" + answer.Rule + originSuffix(answer.Origin) + ")"
		}
		return "", misuse{text, answer.Hint}
	}
	u, err := url.Parse(proxyURL)
	if err != nil {
		return "", err
	}
	return u.Host, nil
}

// carryAll carries each connection of l until l is closed.
func (a *app) carryAll(l net.Listener, dial func() (net.Conn, error)) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			out, err := dial()
			if err != nil {
				a.ui.line(kindError, err.Error())
				return
			}
			defer out.Close()
			carry(c, c, out)
		}()
	}
}

func (a *app) tunnelStdio(dial func() (net.Conn, error), argv []string) error {
	if len(argv) > 0 {
		return misuse{"--listen - carries standard input and output and takes no command", ""}
	}
	out, err := dial()
	if err != nil {
		return err
	}
	defer out.Close()
	carry(a.In, a.Out, out)
	return nil
}

// carry copies both ways, passes each half-close on, and returns when out has
// nothing more to say.
func carry(in io.Reader, back io.Writer, out net.Conn) {
	go func() {
		_, _ = io.Copy(out, in)
		closeWrite(out)
	}()
	_, _ = io.Copy(back, out)
	closeWrite(back)
}

func closeWrite(w any) {
	if c, ok := w.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}

// tunnelCommand runs the command beside the tunnel. A signal from the terminal
// reaches both, and is the command's to judge.
func (a *app) tunnelCommand(argv []string, at string) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGQUIT)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In, a.Out, a.Err
	cmd.Env = append(os.Environ(), tunnelVariable+"="+at)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case !errors.As(err, &exit):
		return err
	case exit.ExitCode() < 0:
		return exitWith(sandbox.StatusSignal + int(exit.Sys().(syscall.WaitStatus).Signal()))
	}
	return exitWith(exit.ExitCode())
}
