package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox"
)

// Tool is an agent's exec tool. Each call runs in a sandbox of its own, and the
// agent is told what was refused and why, so that it can ask instead of guess.
type Tool struct {
	Policy  policy.Policy
	Dir     string
	Timeout time.Duration
}

// Reply is what the agent sees.
type Reply struct {
	Output string
	Status int
	// Refused is empty, or says why the command did not run at all.
	Refused string
	Denied  []string
}

// Exec runs one command line of the agent's.
func (t Tool) Exec(ctx context.Context, argv ...string) Reply {
	var out bytes.Buffer
	denied := make(chan string, 100) // more than an agent reads; the rest is dropped
	cmd := sandbox.Command(ctx, t.Policy, argv[0], argv[1:]...)
	cmd.Dir, cmd.Timeout = t.Dir, t.Timeout
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.OnViolation = func(v policy.Violation) {
		select {
		case denied <- v.Kind + " " + v.Target + ": " + v.Reason:
		default:
		}
	}
	err := cmd.Run()
	reply := Reply{Output: out.String(), Status: cmd.Result().Status}
	if err != nil && !errors.As(err, new(*sandbox.ExitError)) {
		reply.Refused = err.Error()
	}
	for len(denied) > 0 {
		reply.Denied = append(reply.Denied, <-denied)
	}
	return reply
}

func Example() {
	dir, err := os.MkdirTemp("/var/tmp", "agent-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	// No policy file: the built-in default lets the command write dir alone.
	pol, err := policy.Load(policy.Input{
		Vars: policy.Vars{Home: os.Getenv("HOME"), Env: os.Environ()},
		Cwd:  dir,
	})
	if err != nil {
		panic(err)
	}
	tool := Tool{Policy: pol, Dir: dir, Timeout: time.Minute}

	reply := tool.Exec(context.Background(), "sh", "-c", "echo hello > note && cat note")
	fmt.Print(reply.Status, " ", reply.Output)
	reply = tool.Exec(context.Background(), "sh", "-c", "echo x > /var/tmp/agent-outside")
	fmt.Println(reply.Status != 0, reply.Refused == "")
	_, err = os.Stat("/var/tmp/agent-outside")
	fmt.Println(errors.Is(err, os.ErrNotExist))
	// Output:
	// 0 hello
	// true true
	// true
}
