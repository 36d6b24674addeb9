package policy

// weaknesses says what the plan does not hold on this host, each in one line.
func weaknesses(p Policy, h Host, plan *Plan) []Weakness {
	var found []Weakness
	add := func(when bool, id, text string) {
		if when {
			found = append(found, Weakness{ID: id, Text: text})
		}
	}
	linux := h.OS == "linux"
	writes, patterns, open := false, false, false
	for _, r := range plan.Files {
		writes = writes || r.Kind == AllowWrite && !r.Fresh
		patterns = patterns || r.Kind == DenyRead && r.Pattern
	}
	for _, r := range p.Network.Allowed {
		open = open || r.Pattern.Any
	}
	why := func(field, text string) string {
		if got := h.Support.Why[field]; got != "" {
			return text + " (" + got + ")"
		}
		return text
	}
	add(linux && writes && h.Support.Guard, "absent-guard-race",
		"a protected name that does not exist yet is refused by name; a command that races the check can hold it for milliseconds, until it is moved into quarantine")
	add(linux && writes && !h.Support.Guard, "absent-unguarded",
		why("Guard", "protected names that do not exist yet can be created inside write roots, and nothing reports denied writes"))
	add(linux && !h.Support.Landlock, "no-landlock",
		"this kernel has no Landlock (ABI 2, Linux 5.19): FIFOs outside the write roots can be written into, and a file that is standard input or output can be opened again for writing")
	add(linux && writes, "hard-links", "a file in a write root that has another name outside changes there too")
	add(linux && writes, "deep-repositories",
		"in a repository more than two levels below a write root only git's own files are protected, not those of editors and agents")
	add(linux && patterns, "late-names", "a name that the host makes during the run is not hidden, although a denyRead pattern matches it")
	add(linux && !h.Support.Transparent && !p.Network.NoTransparent && len(p.Network.Allowed) > 0, "no-transparent",
		why("Transparent", "programs that ignore proxy variables have no network"))
	add(open, "open-network", "every host is allowed, so whatever can be read can be sent away")
	add(len(p.Filesystem.DenyRead) == 0, "open-reads", "nothing is hidden: the command reads whatever the user can")
	add(p.Network.SNIIgnored, "sni-ignored", "a TLS server name may differ from the host that was allowed")
	found = append(found, socketWeaknesses(plan.Sockets)...)
	add(len(plan.Sockets) > 0, "unix-sockets", "a program behind an allowed Unix socket acts outside the sandbox")
	add(p.Darwin.Trustd, "darwin-trustd", "the trust daemon is reachable and can fetch from the network")
	add(p.Darwin.AppleEvents, "darwin-apple-events", "Apple Events can make programs outside act")
	add(p.Darwin.Keychain, "darwin-keychain", "keychain items are readable")
	add(p.Darwin.LaunchServices, "darwin-launch-services", "programs can be started outside the sandbox")
	add(len(p.Darwin.MachLookup) > 0, "darwin-mach", "the allowed Mach services act outside the sandbox")
	return found
}
