//go:build !linux

package sandbox

import (
	"errors"
	"runtime"

	"github.com/gosrt/gosrt/policy"
)

func askSyscall(*policy.Plan, string, func(string) string) (Answer, error) {
	return Answer{}, errors.New("syscall: no system call filter on " + runtime.GOOS)
}
