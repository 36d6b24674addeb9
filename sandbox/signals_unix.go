//go:build linux || darwin

package sandbox

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var forwarded = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
}

// receiveSignals begins before the command can run: a signal that came in between
// would end this process by its default action, or be lost. Signals that this
// process was started with as ignored (nohup) stay ignored.
func (c *Cmd) receiveSignals() {
	if !c.ForwardSignals {
		return
	}
	var wanted []os.Signal
	for _, s := range forwarded {
		if !signal.Ignored(s) {
			wanted = append(wanted, s)
		}
	}
	c.signals = make(chan os.Signal, 16)
	if len(wanted) > 0 { // none would mean all
		signal.Notify(c.signals, wanted...)
	}
}

// dropSignals ends what receiveSignals began.
func (c *Cmd) dropSignals() {
	if c.signals != nil {
		signal.Stop(c.signals)
	}
}

// forwardSignals runs until the command has ended.
func (c *Cmd) forwardSignals() {
	defer c.dropSignals()
	for {
		select {
		case s := <-c.signals:
			c.run.signal(s.(syscall.Signal))
		case <-c.over:
			return
		}
	}
}

// stopDelay is how long after "stopped" a "continued" may still follow when the
// terminal stopped the whole group and the user's shell continued it.
const stopDelay = 200 * time.Millisecond

// onStop follows a command that was stopped alone (bash's suspend): the shell
// outside can only see this process.
func (c *Cmd) onStop(stopped bool) {
	if !c.ForwardSignals {
		return
	}
	c.mu.Lock()
	c.stops++
	mine := c.stops
	c.mu.Unlock()
	if stopped {
		c.stopUnlessContinued(mine)
	}
}

// stopUnlessContinued waits again when it comes late: this process was stopped
// meanwhile, and the report that the command goes on may be on its way.
func (c *Cmd) stopUnlessContinued(report int) {
	began := time.Now()
	time.AfterFunc(stopDelay, func() {
		c.mu.Lock()
		still := c.stops == report
		c.mu.Unlock()
		switch {
		case !still:
		case time.Since(began) > 2*stopDelay:
			c.stopUnlessContinued(report)
		default:
			c.stopToo()
		}
	})
}

// stopToo returns when the user's shell has continued this process: not when
// kill does, because the stop reaches a process's threads one after the other.
func (c *Cmd) stopToo() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	reclaimTerminal()
	unix.Kill(0, unix.SIGSTOP)
	<-continued
	c.resume()
}

// resume continues the command after the user's shell has continued this
// process, by fg or by bg.
func (c *Cmd) resume() {
	if ownsTerminal() {
		c.run.foreground()
	} else {
		c.run.signal(unix.SIGCONT)
	}
}
