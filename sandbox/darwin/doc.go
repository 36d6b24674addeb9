// Package darwin renders a policy.Plan as a Seatbelt profile and runs the
// command under /usr/bin/sandbox-exec.
//
// What decides a request on macOS, and so how the profile is laid out:
//
//   - The rule for the exact operation beats the rule for a wildcard, wherever
//     either stands. So all reads are decided on file-read*, all writes on
//     file-write*, and a leaf operation carries only what nothing reverses.
//   - Within one operation the last filtered rule that matches decides, so
//     entries are ordered from shallow to deep, and denies of writing come last.
//   - "(version 1)" allows some operations whatever the default is. Each of those
//     that matters is denied by its exact name.
//   - A filter is compared with the path the kernel resolved. A filter spelled
//     otherwise never matches, and a deny that never matches is open. So every
//     path is canonical, and its other spellings stand beside it.
//   - A rename is judged on the moved node alone. So every directory from a
//     protected path up to its write root is pinned.
//
// Profile is pure and builds on every system, as is the reading of the log's
// violations; launching and following the log are in files named _darwin.go.
// Tests hold an evaluator of the profile language, because no Mac took part in
// writing this: its assumptions are the rows of testdata/assumptions.tsv.
//
// What this package does not do: it makes no policy decision (policy.Compile
// did), carries no traffic (package proxy) and prints nothing. What a profile
// cannot hold is in docs/platforms.md. Its sibling is sandbox/linux.
package darwin
