package policy

import (
	"slices"
	"strings"
)

// ParseSettings reads srt's JSON settings file with the meaning it has for srt:
// relative entries join src.Base (srt's rule: the current directory), "$" and
// backslashes are plain characters, an allowWrite entry inside a denyRead entry
// opens reading there. Unlike srt, it refuses unknown keys.
//
// A key of srt that gosrt has no use for gives a line in Policy.Notes. One whose
// loss would weaken what the user asked for is an error.
func ParseSettings(src Source, v Vars) (Policy, error) {
	doc, err := parseSettings(src, v)
	if err != nil {
		return Policy{}, err
	}
	return doc.standalone(), nil
}

func parseSettings(src Source, v Vars) (document, error) {
	root, err := jsonTree(src)
	if err != nil {
		return document{}, err
	}
	doc, err := readDocument(src, v, root, settingsKeys, func(text string) (PathRule, error) {
		rule, err := expandPath(srtSpelling(text), src.Base, v)
		rule.Text = text
		return rule, err
	})
	if err != nil {
		return document{}, err
	}
	doc.closed = true
	doc.policy.Filesystem.WriteImpliesRead = true
	return doc, requireKeys(src, root)
}

// requiredSettings are the keys that srt insists on: a file that lacks one was
// not written for this.
var requiredSettings = [][2]string{
	{"network", "allowedDomains"}, {"network", "deniedDomains"},
	{"filesystem", "denyRead"}, {"filesystem", "allowWrite"}, {"filesystem", "denyWrite"},
}

func requireKeys(src Source, root node) error {
	for _, path := range requiredSettings {
		section, ok := root.field(path[0])
		if ok {
			_, ok = section.field(path[1])
		}
		if !ok {
			return &PositionError{
				File: src.Name, Line: max(section.line, 1), Key: path[0] + "." + path[1],
				Msg: "required, and missing; [] lists nothing",
			}
		}
	}
	return nil
}

func (n node) field(key string) (node, bool) {
	i := slices.IndexFunc(n.fields, func(f field) bool { return f.key == key })
	if i < 0 {
		return node{}, false
	}
	return n.fields[i].node, true
}

// srtSpelling rewrites an entry of srt's grammar in this package's: there is no
// escape, no variable and no "~user", and a "[" that is never closed is plain.
func srtSpelling(text string) string {
	names := strings.Split(text, "/")
	for i, name := range names {
		name = strings.NewReplacer(`\`, `\\`, `$`, `\$`).Replace(name)
		if i == 0 && len(name) > 1 && name[0] == '~' {
			name = `\` + name
		}
		names[i] = escapeOpenClass(name)
	}
	return strings.Join(names, "/")
}

func escapeOpenClass(name string) string {
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '\\':
			i++
		case '[':
			_, end := class(name[i:])
			if end == 0 {
				return name[:i] + `\` + name[i:i+1] + escapeOpenClass(name[i+1:])
			}
			i += end - 1
		}
	}
	return name
}

// settingsKeys is every key of srt's settings.
var settingsKeys = []keyRow{
	{"filesystem", "denyRead", readPaths(func(p *Policy) *[]PathRule { return &p.Filesystem.DenyRead })},
	{"filesystem", "allowRead", readPaths(func(p *Policy) *[]PathRule { return &p.Filesystem.AllowRead })},
	{"filesystem", "allowWrite", readPaths(func(p *Policy) *[]PathRule { return &p.Filesystem.AllowWrite })},
	{"filesystem", "denyWrite", readPaths(func(p *Policy) *[]PathRule { return &p.Filesystem.DenyWrite })},
	{"filesystem", "disabled", refuse("gosrt has no switch that takes the limits away")},
	{"filesystem", "allowGitConfig", note(".git/config stays protected; name it in allowWrite to open it")},

	{"network", "allowedDomains", readHosts(func(p *Policy) *[]HostRule { return &p.Network.Allowed }, ParseHostPattern)},
	{"network", "deniedDomains", readHosts(func(p *Policy) *[]HostRule { return &p.Network.Denied }, ParseDeniedPattern)},
	{"network", "deniedDomainReasons", readReasons},
	{"network", "deniedResolvedAddresses", readAddresses},
	{"network", "allowUnixSockets", readPaths(func(p *Policy) *[]PathRule { return &p.Network.UnixSockets })},
	{"network", "allowMachLookup", readMachLookup},
	{"network", "strictAllowlist", readStrict},
	{"network", "parentProxy", readParentProxy},
	{"network", "allowAllUnixSockets", note("name the sockets in allowUnixSockets instead")},
	{"network", "allowLocalBinding", note("binding to loopback inside is always allowed")},
	{"network", "httpProxyPort", refuse("gosrt decides in its own proxy; make the external one its parentProxy")},
	{"network", "socksProxyPort", refuse("gosrt decides in its own proxy; make the external one its parentProxy")},
	{"network", "mitmProxy", refuse("gosrt does not look into TLS")},
	{"network", "tlsTerminate", refuse("gosrt does not look into TLS")},
	{"network", "filterRequest", refuse("gosrt decides by host, not by request")},

	{"", "credentials", refuse("hide files with filesystem.denyRead; variables that look like secrets are removed anyway")},
	{"", "allowPty", readSetting(func(p *Policy) *bool { return &p.Darwin.Pty }, boolean, tightAt(false))},
	{"", "allowAppleEvents", readSetting(func(p *Policy) *bool { return &p.Darwin.AppleEvents }, boolean, tightAt(false))},
	{"", "enableWeakerNetworkIsolation", readSetting(func(p *Policy) *bool { return &p.Darwin.Trustd }, boolean, tightAt(false))},
	{"", "bwrapPath", readSetting(func(p *Policy) *string { return &p.Bwrap }, absoluteFile, neverTight)},
	{"", "enableWeakerNestedSandbox", note("gosrt does not weaken itself in a container")},
	{"", "ignoreViolations", note("violations are reported all the same")},
	{"", "mandatoryDenySearchDepth", note("protected places are found at any depth")},
	{"", "ripgrep", note("gosrt searches with no other program")},
	{"", "seccomp", note("the filter is built in")},
	{"", "socatPath", note("gosrt needs no socat")},
	{"", "javaAgentJarPath", note("the proxy needs no password, so Java needs no agent")},
	{"", "windows", note("gosrt does not run on Windows")},
	{"", "git", note("set safe.directory in your own git configuration")},
}

// note accepts a key that has no effect, and says so when it asks for something.
func note(instead string) func(*reader, string, node) error {
	return func(r *reader, key string, n node) error {
		if !n.asksNothing() {
			r.doc.policy.Notes = append(r.doc.policy.Notes, r.fault(n, key, "no effect: %s", instead).Error())
		}
		return nil
	}
}

// refuse rejects a key whose loss would weaken the policy, unless it asks nothing.
func refuse(instead string) func(*reader, string, node) error {
	return func(r *reader, key string, n node) error {
		if n.asksNothing() {
			return nil
		}
		return r.fault(n, key, "not supported: %s", instead)
	}
}

// asksNothing says that a value switches its feature off. An empty object does
// not: for srt its presence alone switches tlsTerminate on.
func (n node) asksNothing() bool {
	return n.kind == nodeBool && !n.flag || n.kind == nodeNull
}

// readStrict accepts both values: without somebody to ask, srt denies either way.
func readStrict(r *reader, key string, n node) error {
	if n.kind != nodeBool {
		return r.wrongType(n, key, nodeBool)
	}
	return nil
}

// readParentProxy makes one upstream of srt's two. Two different ones, and
// exceptions from them, cannot be kept: what they keep away would be dialled.
func readParentProxy(r *reader, key string, n node) error {
	if n.kind != nodeTable {
		return r.wrongType(n, key, nodeTable)
	}
	upstream := "env" // srt falls back to the caller's variables
	for _, f := range n.fields {
		at := key + "." + f.key
		text, err := r.text(at, f.node)
		switch {
		case f.key == "noProxy":
			return r.fault(f.node, at, "not supported: everything goes through the parent proxy")
		case f.key != "http" && f.key != "https":
			return r.unknownParentKey(f)
		case err != nil:
			return err
		case upstreamFault(text) != "":
			return r.fault(f.node, at, "%s", upstreamFault(text))
		case upstream != "env" && upstream != text:
			return r.fault(f.node, at, "not supported: one parent proxy for both http and https")
		}
		upstream = text
	}
	r.doc.settings = append(r.doc.settings, newSetting("network.upstream", upstream, r.origin(n), upstream,
		func(p *Policy) *string { return &p.Network.Upstream }, neverTight))
	return nil
}

func (r *reader) unknownParentKey(f field) error {
	err := r.fault(f.node, "", "unknown key %s in network.parentProxy", quoteCut(f.key))
	err.Suggestion = nearest(f.key, []string{"http", "https", "noProxy"})
	return err
}
