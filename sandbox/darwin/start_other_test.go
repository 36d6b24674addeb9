//go:build !darwin

package darwin

import (
	"runtime"
	"strings"
	"testing"
)

func TestStartElsewhere(t *testing.T) {
	if _, err := Start(Config{Plan: project()}); err == nil || !strings.Contains(err.Error(), runtime.GOOS) {
		t.Errorf("error %v does not name %s", err, runtime.GOOS)
	}
}
