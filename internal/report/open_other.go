//go:build !unix

package report

import (
	"errors"
	"io"
	"runtime"
)

// Open is for systems where gosrt runs commands.
func Open(string) (Sink, io.Closer, error) {
	return nil, nil, errors.New("--report: not available on " + runtime.GOOS)
}

// OpenAudit is for systems where gosrt runs commands.
func OpenAudit(string) (Sink, io.Closer, error) {
	return nil, nil, errors.New("audit log: not available on " + runtime.GOOS)
}
