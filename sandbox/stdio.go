package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// stdio turns the readers and writers of a Cmd into files, as os/exec does.
type stdio struct {
	in, out, err *os.File
	mine         []*os.File // to close once the command holds its own
	copies       sync.WaitGroup
	mu           sync.Mutex
	failure      error
}

func newStdio(in io.Reader, out, errw io.Writer) (s *stdio, err error) {
	s = &stdio{}
	defer func() {
		if err != nil {
			s.abandon()
		}
	}()
	if s.in, err = s.reader(in); err != nil {
		return s, err
	}
	if s.out, err = s.writer(out); err != nil {
		return s, err
	}
	if s.err = s.out; !sameWriter(out, errw) {
		s.err, err = s.writer(errw)
	}
	if err == nil {
		err = s.refuseDirectories()
	}
	return s, err
}

// abandon ends what a run that did not start has begun: after it, nothing writes
// to the caller's writers.
func (s *stdio) abandon() {
	s.closeMine()
	s.copies.Wait()
}

// refuseDirectories: a directory that the caller opened leads to the host's own
// mount of it, around everything that is mounted for the command.
func (s *stdio) refuseDirectories() error {
	for i, f := range []*os.File{s.in, s.out, s.err} {
		if fi, err := f.Stat(); err == nil && fi.IsDir() {
			return &RefusedError{Feature: fmt.Sprintf("descriptor %d", i), Got: fmt.Sprintf("%q is a directory: it would lead the command around its limits", f.Name()), Hint: "redirect it to a file or to /dev/null"}
		}
	}
	return nil
}

// sameWriter lets one pipe serve both, so that the order of writes is kept.
func sameWriter(a, b io.Writer) (same bool) {
	defer func() { recover() }() // comparing uncomparable dynamic types panics
	return a != nil && a == b
}

func (s *stdio) reader(r io.Reader) (*os.File, error) {
	switch r := r.(type) {
	case nil:
		return s.devNull()
	case *os.File:
		if !leadsOut(r) {
			return r, nil
		}
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.mine = append(s.mine, pr)
	// Not counted in copies: a reader that never ends must not hold up Wait.
	go func() {
		_, err := io.Copy(pw, r)
		pw.Close()
		s.note(err)
	}()
	return pr, nil
}

func (s *stdio) writer(w io.Writer) (*os.File, error) {
	switch w := w.(type) {
	case nil:
		return s.devNull()
	case *os.File:
		if !leadsOut(w) {
			return w, nil
		}
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.mine = append(s.mine, pw)
	s.copies.Go(func() {
		_, err := io.Copy(w, pr)
		pr.Close()
		s.note(err)
	})
	return pw, nil
}

func (s *stdio) devNull() (*os.File, error) {
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err == nil {
		s.mine = append(s.mine, f)
	}
	return f, err
}

// note keeps the first failure of a copy. A command that closes its input early
// is not one.
func (s *stdio) note(err error) {
	if err == nil || errors.Is(err, os.ErrClosed) || isBrokenPipe(err) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = err
	}
}

// closeMine closes the command's ends in this process.
func (s *stdio) closeMine() {
	for _, f := range s.mine {
		f.Close()
	}
	s.mine = nil
}

// wait returns once all output has been copied.
func (s *stdio) wait() error {
	s.copies.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}
