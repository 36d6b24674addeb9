package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary be gosrt itself: the scripts' command. Its stage
// inside it is already, by importing sandbox/linux/stage.
func TestMain(m *testing.M) {
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
