//go:build !linux && !darwin

package sandbox

import (
	"context"
	"io"
	"runtime"

	"github.com/gosrt/gosrt/policy"
)

// A platform without a backend refuses every run. Policies and plans work there.

func startBackend(string, backendConfig) (running, error) { return running{}, noBackend() }

func noBackend() error {
	return &RefusedError{
		Feature: "sandbox on " + runtime.GOOS,
		Need:    "Linux or macOS",
		Got:     "this version has no backend for " + runtime.GOOS,
	}
}

func probeBackend(context.Context, []string) []Check {
	return []Check{{Name: "backend", Status: CheckError, Message: noBackend().Error()}}
}

// ProbeInside has nothing to try here.
func ProbeInside(io.Writer) error { return noBackend() }

func support() policy.Support { return policy.Support{} }

// RenderArgv is empty: nothing would be run for the plan.
func RenderArgv(*policy.Plan) []string { return nil }

func ownsTerminal() bool { return false }

func reclaimTerminal() {}
