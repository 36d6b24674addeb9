//go:build !unix

package policyfile

import (
	"errors"
	"os"
)

// Inherited takes nothing over here: no command runs.
func Inherited(int) (*os.File, error) {
	return nil, errors.New("gosrt runs no command on this system")
}
