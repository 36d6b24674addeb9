//go:build !linux && !darwin

package sandbox

import (
	"errors"
	"runtime"

	"github.com/gosrt/gosrt/policy"
)

// osFS answers nothing where paths are not Unix paths, so that no plan is made
// there that would not hold.
type osFS struct{}

var errNoPaths = errors.New("no file rules on " + runtime.GOOS)

func (osFS) Lstat(string) (policy.FileInfo, error)     { return policy.FileInfo{}, errNoPaths }
func (osFS) Readlink(string) (string, error)           { return "", errNoPaths }
func (osFS) ReadDir(string) ([]policy.DirEntry, error) { return nil, errNoPaths }
func (osFS) ReadFile(string) ([]byte, error)           { return nil, errNoPaths }

func isBrokenPipe(error) bool { return false }

func (c *Cmd) receiveSignals() {}
func (c *Cmd) dropSignals()    {}
func (c *Cmd) forwardSignals() {}
func (c *Cmd) onStop(bool)     {}
