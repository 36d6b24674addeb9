package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox"
)

// asker puts questions about hosts to the user, one at a time, and remembers the
// answers for the run.
type asker struct {
	tty     *os.File
	mu      sync.Mutex
	answers map[policy.HostPort]bool
}

// listenForAnswers lets the user decide where the policy asks. Without a terminal
// there is nobody to ask, and that denies.
func (a *app) listenForAnswers(c *sandbox.Cmd) {
	if !c.Policy.Network.Ask {
		return
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		a.ui.linef(kindNote, "no terminal to ask on: hosts that no rule decides are denied")
		return
	}
	s := &asker{tty: tty, answers: map[policy.HostPort]bool{}}
	c.Ask = s.ask
}

// ask is a sandbox.Cmd's Ask.
func (s *asker) ask(ctx context.Context, h policy.HostPort) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if allowed, known := s.answers[h]; known {
		return allowed
	}
	allowed, err := s.prompt(ctx, h)
	if err != nil { // not an answer: the next connection asks again
		fmt.Fprintln(s.tty, "gosrt: ask: no answer, denied")
		return false
	}
	s.answers[h] = allowed
	return allowed
}

// prompt has the user type the name, not a "y": the command writes to the same
// terminal and could paint another question over this one.
func (s *asker) prompt(ctx context.Context, h policy.HostPort) (bool, error) {
	// An interactive shell inside may have the terminal. The command was started
	// before and does not inherit this.
	failBackgroundReads()
	s.drain()
	stop := context.AfterFunc(ctx, func() { _ = s.tty.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	name := printable(h.Name())
	fmt.Fprintf(s.tty, "gosrt: ask: may it reach %s? type %s to allow it until it ends, anything else denies: ", printable(h.String()), name)
	line, err := bufio.NewReader(io.LimitReader(s.tty, 1024)).ReadString('\n')
	return err == nil && strings.TrimSpace(line) == name, err
}

// drain drops lines that were typed before the question: they answer another.
func (s *asker) drain() {
	_ = s.tty.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, _ = io.Copy(io.Discard, io.LimitReader(s.tty, 64<<10))
	_ = s.tty.SetReadDeadline(time.Time{})
}
