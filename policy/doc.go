// Package policy says what a sandboxed command may do. It is pure: no file, no
// socket, no clock, no process. Everything it needs from the machine comes in
// as a value (Host), everything it decides goes out as a value (Plan, Decision).
//
// The data goes one way:
//
//	text (TOML, srt's JSON, flags) -> Policy      Load
//	Policy + Host + Command        -> Plan        Compile; closed: nothing left to decide
//	Policy.Network + HostPort      -> Decision    Decide; the proxy asks it for each connection
//	Plan + path                    -> Decision    DecideRead, DecideWrite; mounts, guard, explain and tests ask it
//
// # The rules
//
// Reads are allowed unless a denyRead entry covers the path; the most specific
// entry wins and at equal paths allowRead wins. Writes are denied unless an
// allowWrite entry covers the path; denyWrite wins over allowWrite at any depth.
// A connection is denied unless an allowedDomains entry matches; deniedDomains
// wins. Nothing opens what a managed file denies. The zero value of every type
// here denies.
//
// # What the file rules hold, and against whom
//
// The adversary is the command: a mistaken program with the user's own rights, a
// program that obeyed text it read, or one written to get out. It may start any
// number of processes, race every check, make links, rename directories, and
// leave files behind for the next run. It does not have the kernel.
//
// Held by mounts, so by the kernel, for every process, spelling and race:
//
//   - hidden places that exist at the start. Opening them answers EACCES, for
//     root too; nothing can be written into them;
//   - everything outside the write roots is read-only;
//   - denyWrite entries and protected paths that exist at the start, and the
//     directories above them, which cannot be renamed or removed.
//
// Held by the guard (seccomp user notification), so by name at the moment of the
// call:
//
//   - denied and protected names that do not exist yet. Nothing is created on the
//     host to hold their place. A process that changes the path between the
//     guard's look and the kernel's can win a race; what it made is moved into
//     quarantine within milliseconds. The guard is not a boundary against it for
//     that long;
//   - symbolic links that a denied entry was spelled through, which no mount can
//     cover: replacing the link makes the spelling mean another file;
//   - git directories deeper in a write root than the bounded look at the start
//     goes, and those born during the run.
//
// Not held, and said so in Plan.Weaknesses where it applies:
//
//   - hard links made before the run: a file in a write root that has a second
//     name elsewhere changes there too. (New ones to a place outside fail: link(2)
//     does not cross mounts.)
//   - what the host does with the files in a write root afterwards. Any script,
//     Makefile or program in it is the command's word;
//   - what other programs on the host reveal or do for the command, through a
//     socket that the policy opens.
//
// An allow never follows a symbolic link that lies in a write root: an earlier run
// could have put it there. A .git file opens its repository only when that
// repository names the checkout back.
//
// Neighbours: proxy carries traffic that Decide allowed; sandbox/linux and
// sandbox/darwin render a Plan. This package knows neither.
package policy
