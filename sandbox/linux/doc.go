// Package linux renders a policy.Plan as bubblewrap arguments and a seccomp
// filter, and runs the command under them.
//
// The processes, outermost first, and what each holds:
//
//	supervisor   the calling program: proxies, monitor, report. Outside.
//	bwrap        namespaces and mounts; final environment is empty, arguments
//	             come through --args FD, so neither shows in /proc/PID/cmdline.
//	stage        the same binary again, pid 1 inside, executed through a
//	             descriptor so that no policy can hide it. Checks of the mounts,
//	             sockets for the supervisor, filter; then the command as its child.
//	command      what the user runs.
//
// Each dies with the one above it: Pdeathsig from a locked thread, then bwrap's
// --die-with-parent, then the pid namespace.
//
// Order inside the stage, and why: it is made undumpable first, so that nothing
// inside can ever trace it; sockets before the filter, because the filter
// refuses some of them; the mounts are verified before the command
// exists, because nothing inside can change them until then; the static filter
// is put on every thread before the command is forked; the notification filter
// comes last, because its listener must leave through a message of the stage.
//
// The network needs no process of its own. A socket belongs to the network
// namespace it was made in, so the stage makes sockets and passes them out, and
// the supervisor sets routes, the redirect, ports and listeners through them. It
// may, because it is the parent and owner of the user namespace that bwrap made
// and that owns the network (user_namespaces(7)); nothing inside has a capability
// there. See transact and setUpNetwork.
//
// The Guard answers notified calls: it refuses by name what no mount can hold
// (protected paths that are not there, repositories that appear), reports what
// the mounts refuse, and connects Unix sockets itself. It is no boundary against a
// caller whose other threads change a name after it was read: what those make is
// moved into quarantine milliseconds later. Connects have no such gap.
//
// Argv, Stage and the filters are pure and build on every system; the effects
// are in files named _linux.go. What this package does not do: it makes no
// policy decision (policy.Compile did), carries no traffic (package proxy) and
// prints nothing.
package linux
