//go:build !unix

package projectcache

import (
	"fmt"
	"runtime"
)

type mode int

const (
	shared mode = iota
	exclusive
)

func lock(path string, _ mode) (release func(), err error) {
	return nil, fmt.Errorf("lock %q: no backend for %s", path, runtime.GOOS)
}
