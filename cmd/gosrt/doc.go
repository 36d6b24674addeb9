// Command gosrt runs a command, and everything that command starts, inside
// limits that the operating system holds.
//
// This package parses flags, prints and picks the exit status. What is allowed
// is decided in package policy, and how it is held in package sandbox; this
// command uses both as any other program would. Each subcommand is one file.
//
// Standard output belongs to the command that runs. Every line of gosrt's own
// goes to standard error and begins with "gosrt: ".
package main
