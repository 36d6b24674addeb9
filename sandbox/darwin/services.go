package darwin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// leftovers are operations that "(version 1)" allows, or that a later macOS may
// start to allow, whatever the default is. A deny of file* does not reach them;
// a deny by exact name does. file-link has its own rules, in files.go.
var leftovers = []struct {
	op, why  string
	optional bool
}{
	{op: "file-clone", why: "a clone of a directory carries hidden files along"},
	{op: "file-mknod", why: "a device node reaches past the file system"},
	{op: "file-mount", why: "a mount moves paths away from their rules"},
	{op: "file-mount-update", why: "a mount moves paths away from their rules"},
	{op: "file-unmount", why: "a mount moves paths away from their rules"},
	{op: "file-chroot", why: "a new root moves paths away from their rules"},
	{op: "fs-snapshot-create", why: "a snapshot shows files under other paths"},
	{op: "fs-snapshot-delete", why: "a snapshot shows files under other paths"},
	{op: "fs-snapshot-mount", why: "a snapshot shows files under other paths"},
	{op: "fs-snapshot-revert", why: "a snapshot shows files under other paths"},
	{op: "file-graft", why: "a graft moves paths away from their rules", optional: true},
	{op: "file-ungraft", why: "a graft moves paths away from their rules", optional: true},
	{op: "file-write-acl", why: "an access list could outlive the run"},
}

// machNames are the services that every command may look up: names of users
// and groups, the per-user directories, notifications that only wake a waiter.
var machNames = []string{
	"com.apple.bsd.dirhelper",
	"com.apple.system.notification_center",
	"com.apple.system.opendirectoryd.libinfo",
	"com.apple.system.opendirectoryd.membership",
}

// noisyNames are looked up by the system's own libraries and do without.
var noisyNames = []string{
	"com.apple.analyticsd",
	"com.apple.diagnosticd",
}

// feature is one switch of [darwin] and what it opens. What that costs is in
// Plan.Weaknesses.
type feature struct {
	on   func(policy.Darwin) bool
	mach []string
	ops  []string
}

var features = []feature{
	{
		on:   func(d policy.Darwin) bool { return d.Trustd },
		mach: []string{"com.apple.trustd.agent"},
	},
	{
		on: func(d policy.Darwin) bool { return d.AppleEvents },
		mach: []string{
			"com.apple.CoreServices.coreservicesd",
			"com.apple.coreservices.appleevents",
			"com.apple.coreservices.quarantine-resolver",
		},
		ops: []string{"appleevent-send"},
	},
	{
		on:   func(d policy.Darwin) bool { return d.Keychain },
		mach: []string{"com.apple.SecurityServer", "com.apple.securityd.xpc"},
	},
	{
		on:   func(d policy.Darwin) bool { return d.LaunchServices },
		mach: []string{"com.apple.coreservices.launchservicesd", "com.apple.lsd.mapdb"},
		ops:  []string{"lsopen"},
	},
}

// sysctlNames may be read: what runtimes ask to size and name the machine. The
// processes of others (kern.procargs2 and its like) are not among them.
var sysctlNames = strings.Fields(`
	hw.activecpu hw.busfrequency_compat hw.byteorder hw.cacheconfig hw.cachelinesize
	hw.cachelinesize_compat hw.cpufamily hw.cpufrequency hw.cpufrequency_compat hw.cputype
	hw.l1dcachesize_compat hw.l1icachesize_compat hw.l2cachesize_compat hw.l3cachesize_compat
	hw.logicalcpu hw.logicalcpu_max hw.machine hw.memsize hw.model hw.ncpu hw.nperflevels
	hw.packages hw.pagesize hw.pagesize_compat hw.physicalcpu hw.physicalcpu_max
	hw.tbfrequency_compat hw.vectorunit
	kern.argmax kern.bootargs kern.hostname kern.maxfiles kern.maxfilesperproc kern.maxproc
	kern.ngroups kern.osproductversion kern.osrelease kern.ostype kern.osvariant_status
	kern.osversion kern.secure_kernel kern.tcsm_available kern.tcsm_enable kern.usrstack64
	kern.version kern.willshutdown
	machdep.ptrauth_enabled
	security.mac.lockdown_mode_state sysctl.proc_cputype vm.loadavg`)

var sysctlPrefixes = []string{
	"hw.optional.arm", "hw.perflevel",
	"kern.proc.all", "kern.proc.pgrp.", "kern.proc.pid.",
	"machdep.cpu.", "net.routetable",
}

// sysctlWrites are two switches of the calling thread that runtimes set.
var sysctlWrites = []string{"kern.grade_cputype", "kern.tcsm_enable"}

// leftoverRules come first in the text, but their place does not matter.
func leftoverRules() []rule {
	var out []rule
	for _, l := range leftovers {
		r := deny(l.op).because(l.why)
		r.optional = l.optional
		out = append(out, r)
	}
	return out
}

// processRules let the command run its own processes and see and signal only
// those. Set-id programs never start in a sandbox; that needs no rule.
func processRules() []rule {
	return []rule{
		allow("process-exec*", "process-fork"),
		allow("process-info*", "signal", "mach-priv-task-port").on("(target same-sandbox)"),
		allow("ipc-posix-sem", "ipc-posix-shm", "ipc-sysv-sem"),
		allow("user-preference-read", "distributed-notification-post"),
	}
}

func sysctlRules() []rule {
	return []rule{
		allow("sysctl-read").on(append(
			each(named("sysctl-name"), sysctlNames),
			each(named("sysctl-name-prefix"), sysctlPrefixes)...)...),
		allow("sysctl-write").on(each(named("sysctl-name"), sysctlWrites)...),
	}
}

func named(word string) func(string) string {
	return func(s string) string { return "(" + word + " " + quote(s) + ")" }
}

// serviceRules open Mach services: the few that every command needs, then what
// the plan's features name.
func serviceRules(d policy.Darwin) ([]rule, error) {
	names := slices.Clone(machNames)
	var prefixes, ops []string
	for _, f := range features {
		if f.on(d) {
			names, ops = append(names, f.mach...), append(ops, f.ops...)
		}
	}
	for _, n := range d.MachLookup {
		if err := machFault(n); err != nil {
			return nil, fmt.Errorf("machLookup %q: %w", n, err)
		}
		if p, ok := strings.CutSuffix(n, "*"); ok {
			prefixes = append(prefixes, p)
		} else {
			names = append(names, n)
		}
	}
	filters := append(each(named("global-name"), sorted(names)), each(named("global-name-prefix"), sorted(prefixes))...)
	quiet := deny("mach-lookup").on(each(named("global-name"), without(noisyNames, names))...)
	quiet.quiet = true
	out := []rule{allow("mach-lookup").on(filters...)}
	if len(quiet.filters) > 0 {
		// First, so that a name the user opened by prefix stays open.
		out = []rule{quiet, out[0]}
	}
	if len(ops) > 0 {
		out = append(out, allow(ops...))
	}
	return out, nil
}

// machFault accepts a service name, with one * at its end for a prefix.
func machFault(name string) error {
	base := strings.TrimSuffix(name, "*")
	if base == "" {
		return fmt.Errorf("names every service; list those that are needed")
	}
	for _, r := range base {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._@-", r)) {
			return fmt.Errorf("holds %q: a service name has letters, digits, \".\", \"_\", \"@\", \"-\", and a \"*\" only at its end", r)
		}
	}
	return textFault(base)
}

func sorted(values []string) []string {
	out := slices.Clone(values)
	slices.Sort(out)
	return slices.Compact(out)
}

func without(values, drop []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(drop, v) })
}
