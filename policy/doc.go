// Package policy says what a sandboxed command may do. It is pure: no file, no
// socket, no clock, no process. Everything it needs from the machine comes in
// as a value (Host), everything it decides goes out as a value (Plan, Decision).
//
// The data goes one way:
//
//	text (TOML, srt's JSON, flags) -> Policy      Load*, Merge
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
// Neighbours: proxy carries traffic that Decide allowed; sandbox/linux and
// sandbox/darwin render a Plan. This package knows neither.
package policy
