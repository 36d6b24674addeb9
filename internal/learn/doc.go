// Package learn turns the denials of a run into the smallest policy that lets the
// run pass. It is pure: what lies on the host comes in as Facts, and nothing is
// written. The run itself was held by a sandbox, so that what is proposed is what
// was missing, and no program ran open to find out.
//
// It never proposes what is hidden or protected, directories of the system, or
// addresses that no name may lead to; what it leaves out it names, with the reason.
package learn
