package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gosrt/gosrt/sandbox"
)

// TestMain makes the test binary be gosrt itself: the scripts' command, and
// through sandbox.Init its stage inside.
func TestMain(m *testing.M) {
	sandbox.Init()
	testscript.Main(m, map[string]func(){"gosrt": main})
}

// need skips a test that this machine cannot run, for people; in CI, which sets
// GOSRT_TEST_NEED=all, it fails instead.
func need(t interface {
	Skip(...any)
	Fatal(...any)
}, met bool, what string) {
	switch {
	case met:
	case os.Getenv("GOSRT_TEST_NEED") == "all":
		t.Fatal("this test needs " + what)
	default:
		t.Skip("this test needs " + what)
	}
}
