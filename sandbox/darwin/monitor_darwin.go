package darwin

import (
	"bufio"
	"os/exec"
	"time"
)

const (
	// readyWithin bounds the wait for log(1) to say that it follows.
	readyWithin = 2 * time.Second
	// drainFor is how long denials of the last moment may take to arrive.
	drainFor = 400 * time.Millisecond
	// maxEvent bounds one line of the stream; a longer one is dropped.
	maxEvent = 64 << 10
)

// monitor follows the kernel's log for one run. It reports and never decides; a
// host that does not let this user follow the log has no monitor, and the limits
// hold the same.
type monitor struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// startMonitor returns once log(1) follows, so that the first denial is not
// missed; nil when it does not.
func startMonitor(tag string, report func(denial)) *monitor {
	cmd := exec.Command("/usr/bin/log", "stream", "--style", "ndjson", "--level", "debug", "--predicate", logPredicate(tag))
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return nil
	}
	m := &monitor{cmd: cmd, done: make(chan struct{})}
	ready := make(chan struct{})
	go func() {
		defer close(m.done)
		readEvents(bufio.NewReaderSize(out, maxEvent), tag, func() { close(ready) }, report)
	}()
	select {
	case <-ready:
		return m
	case <-m.done:
	case <-time.After(readyWithin):
	}
	m.end()
	return nil
}

// logPredicate selects this run's denials for log(1). The tag is hexadecimal.
func logPredicate(tag string) string {
	return `eventMessage CONTAINS "` + tagPrefix + tag + `-"`
}

// drain waits for late denials and ends the monitor.
func (m *monitor) drain() {
	select {
	case <-m.done:
	case <-time.After(drainFor):
	}
	m.end()
}

func (m *monitor) end() {
	m.cmd.Process.Kill()
	<-m.done
	m.cmd.Wait()
}
