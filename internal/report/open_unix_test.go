//go:build unix

package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gosrt/gosrt/policy"
)

// A report file that an earlier run replaced by a link must not have the target
// emptied.
func TestOpenFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "report.jsonl")
	if err := os.Symlink(precious, link); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(link); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("opened: %v", err)
	}
	if text, _ := os.ReadFile(precious); string(text) != "precious" {
		t.Error("the target was emptied")
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dest := range []string{pipe, dir, filepath.Join(dir, "no/such"), "fd:", "fd:x", "fd:-1", "fd:0", "fd:987"} {
		if _, _, err := Open(dest); err == nil {
			t.Errorf("%s: opened", dest)
		}
	}
}

// The one warning: a sink that fails is left alone.
func TestFullDiskWarnsOnce(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	var told []error
	var kept strings.Builder
	w := &Writer{Failed: func(err error) { told = append(told, err) }}
	w.Add(Lines(full))
	w.Add(Lines(&kept))
	w.Start(Start{})
	for i := range 100 {
		w.Violation(func() policy.Violation { return policy.Violation{Seq: uint64(i)} })
	}
	if len(told) != 1 || !errors.Is(told[0], syscall.ENOSPC) {
		t.Errorf("told %v", told)
	}
	if n := strings.Count(kept.String(), "\n"); n != 101 {
		t.Errorf("the other sink got %d lines", n)
	}
}

// A pipe that nobody reads holds nothing up.
func TestStuckReaderHoldsNothingUp(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	sink, closer, err := Open(fmt.Sprint("fd:", w.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(strings.Repeat("x", 1000))
	for range 2 * queueLines { // for ever, where it does
		err = sink(line)
	}
	if err == nil {
		t.Error("more lines were taken than the queue holds")
	}
	if err := closer.Close(); err == nil {
		t.Error("closed as if all was written")
	}
	runtime.KeepAlive(w) // the descriptor is closed with it
	r.Close()
	for began := time.Now(); goleak.Find() != nil && time.Since(began) < time.Minute; {
	}
	goleak.VerifyNone(t)
}

// What a reader that went away did not get is told, at the latest at the end.
func TestReaderThatLeft(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	sink, closer, err := Open(fmt.Sprint("fd:", w.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if err := errors.Join(sink([]byte("x")), closer.Close()); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("told %v", err)
	}
	runtime.KeepAlive(w)
}
