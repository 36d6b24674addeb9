package stage

import (
	"encoding/binary"
	"errors"
)

// The stage's messages are written by hand: encoding/json takes a millisecond of
// every start to learn the types, and cannot hold strings that are not UTF-8.

// writer builds one encoding: numbers as varints, strings and lists after their
// length.
type writer []byte

func (w *writer) number(n uint64) { *w = binary.AppendUvarint(*w, n) }

func (w *writer) text(s string) {
	w.number(uint64(len(s)))
	*w = append(*w, s...)
}

func (w *writer) flag(b bool) {
	if b {
		w.number(1)
	} else {
		w.number(0)
	}
}

// writeList writes each element with put.
func writeList[T any](w *writer, list []T, put func(T)) {
	w.number(uint64(len(list)))
	for _, e := range list {
		put(e)
	}
}

var errCutShort = errors.New("cut short")

// reader takes apart what writer built. After a fault everything reads as zero,
// and end reports it.
type reader struct {
	rest  []byte
	fault bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.rest, r.fault = nil, true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.rest, r.fault = nil, true
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *reader) flag() bool { return r.number() != 0 }

// end reports a fault, or bytes that nothing has read.
func (r *reader) end() error {
	if r.fault || len(r.rest) > 0 {
		return errCutShort
	}
	return nil
}

// readList reads each element with get. Every element takes a byte at least,
// which bounds what a wrong length can make it allocate.
func readList[T any](r *reader, get func() T) []T {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.rest, r.fault = nil, true
		return nil
	}
	list := make([]T, 0, n)
	for range n {
		list = append(list, get())
	}
	return list
}
