package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScript runs testdata/script/*.txtar: the real command on the real kernel,
// one behaviour a file. A script starts in $WORK/proj, a git checkout, with a
// home directory of its own that holds credentials.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		WorkdirRoot:         scriptRoot(t),
		Setup:               setupScript,
		Condition:           scriptCondition,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": cmdStatus,
			"need":   cmdNeed,
			"origin": cmdOrigin,
			"absent": cmdAbsent,
			"schema": cmdSchema,
		},
	})
}

// scriptRoot is not under /tmp: the command sees a private one.
func scriptRoot(t *testing.T) string {
	dir, err := os.MkdirTemp("/var/tmp", "gosrt-script-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// planted are the files of the script's home and project.
var planted = map[string]string{
	"home/.ssh/id_ed25519":      "canary-ssh\n",
	"home/.aws/credentials":     "canary-aws\n",
	"home/notes.txt":            "notes\n",
	"proj/.git/HEAD":            "ref: refs/heads/main\n",
	"proj/.git/config":          "[core]\n\trepositoryformatversion = 0\n",
	"proj/.git/objects/info/.x": "",
	"proj/.git/refs/heads/.x":   "",
	"proj/.git/hooks/.x":        "",
}

func setupScript(env *testscript.Env) error {
	for name, text := range planted {
		path := filepath.Join(env.WorkDir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	env.Cd = filepath.Join(env.WorkDir, "proj")
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("PROJ", env.Cd)
	env.Setenv("LANG", "C")
	env.Values[scriptSkip{}] = env.T().Skip
	return nil
}

// scriptCondition adds [root]: the tests run as root and as an ordinary user.
func scriptCondition(cond string) (bool, error) {
	if cond == "root" {
		return os.Getuid() == 0, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// cmdStatus is "status N COMMAND ARG...": COMMAND must exit with exactly N.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [arg...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got, err := 0, ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// cmdNeed is "need PROGRAM...".
func cmdNeed(ts *testscript.TestScript, _ bool, args []string) {
	for _, program := range args {
		_, err := exec.LookPath(program)
		need(scriptT{ts}, err == nil, program)
	}
}

// scriptT lets need end a script.
type scriptT struct{ ts *testscript.TestScript }

func (t scriptT) Fatal(args ...any) { t.ts.Fatalf("%s", fmt.Sprint(args...)) }
func (t scriptT) Skip(args ...any)  { t.ts.Value(scriptSkip{}).(func(...any))(args...) }

type scriptSkip struct{}

// cmdAbsent is "absent PATH...": no file, directory or link has that name.
func cmdAbsent(ts *testscript.TestScript, _ bool, args []string) {
	for _, path := range args {
		if _, err := os.Lstat(ts.MkAbs(path)); !errors.Is(err, os.ErrNotExist) {
			ts.Fatalf("%s is there (%v)", path, err)
		}
	}
}

// cmdOrigin is "origin NAME": starts an HTTP server on 127.0.0.1 that answers
// every request with "origin PATH", and puts its port in $NAME.
func cmdOrigin(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: origin NAME")
	}
	server := startOrigin()
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL[strings.LastIndex(server.URL, ":")+1:])
}
