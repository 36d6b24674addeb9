// Package sandbox runs a command inside limits held by the operating system. It
// is the library's front door, shaped like os/exec:
//
//	cmd := sandbox.Command(ctx, pol, "npm", "test")
//	cmd.Stdout = os.Stdout
//	err := cmd.Run()
//
// The same binary is pid 1 inside the sandbox: see sandbox/linux/stage.
//
// A Cmd wires three parts that do not know each other: package policy says what
// is allowed, package proxy carries the traffic that is, and sandbox/linux or
// sandbox/darwin holds the rest. Any number of them run at once in one process,
// each with its own policy, proxies and listeners; nothing is shared.
//
// The command never runs without its limits: when they cannot be put up, Start
// returns a *RefusedError that says what is missing and what to do.
package sandbox
