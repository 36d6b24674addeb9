//go:build unix

package policyfile

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Opening a FIFO waits for a writer: a project must not be able to stop gosrt so.
func TestProjectFileIsNoFIFO(t *testing.T) {
	w := newWorld(t)
	if err := syscall.Mkfifo(filepath.Join(w.project, ProjectFile), 0o644); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.refused("not a plain file")
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("waits for a writer")
	}
}
