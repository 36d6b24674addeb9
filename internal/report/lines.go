package report

import (
	"bufio"
	"errors"
	"io"
)

// lineReader hands out lines of bounded length and says whether the last one is
// whole, which bufio.Scanner does not.
type lineReader struct{ r *bufio.Reader }

func newLineReader(r io.Reader) lineReader { return lineReader{bufio.NewReaderSize(r, maxLineBytes)} }

// next returns a line without its newline, valid until the next call. Whole is
// false for one that ends with the file.
func (l lineReader) next() (line []byte, whole bool, err error) {
	line, err = l.r.ReadSlice('\n')
	switch {
	case err == nil:
		return line[:len(line)-1], true, nil
	case errors.Is(err, io.EOF) && len(line) > 0:
		return line, false, nil
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, false, errors.New("a line longer than 1 MiB")
	}
	return nil, false, err
}
