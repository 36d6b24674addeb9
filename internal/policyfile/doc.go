// Package policyfile finds and reads policy files, and remembers which project
// files the user trusts. It is the only reader of policy files; what they mean
// is policy's business.
//
// A project file comes from strangers: it is read without following a link,
// without blocking on what is not a plain file, and up to a size.
package policyfile
