package policy

import (
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The readers of keys, one for each shape of value. keys.go says which key has
// which.

func readPaths(list func(*Policy) *[]PathRule) func(*reader, string, node) error {
	return func(r *reader, key string, n node) error {
		items, err := r.texts(key, n)
		if err != nil {
			return err
		}
		for _, item := range items {
			rule, err := r.path(item.text)
			if err != nil {
				return r.fault(item, key, "%s: %v", quoteCut(item.text), err)
			}
			rule.Origin = r.origin(item)
			into := list(&r.doc.policy)
			*into = append(*into, rule)
		}
		return nil
	}
}

type parsePattern func(text string) (HostPattern, error)

func readHosts(list func(*Policy) *[]HostRule, parse parsePattern) func(*reader, string, node) error {
	return func(r *reader, key string, n node) error {
		items, err := r.texts(key, n)
		if err != nil {
			return err
		}
		for _, item := range items {
			rules, err := hostEntryRules(item.text, r.origin(item), parse)
			if err != nil {
				return r.fault(item, key, "%v", err)
			}
			into := list(&r.doc.policy)
			*into = append(*into, rules...)
		}
		return nil
	}
}

// hostEntryRules reads one entry of a host list. A leading dot is short for the name
// itself and every name below it, as in cookies and NO_PROXY.
func hostEntryRules(text string, origin Origin, parse parsePattern) ([]HostRule, error) {
	spellings := []string{text}
	if apex, ok := strings.CutPrefix(text, "."); ok {
		spellings = []string{apex, "*." + apex}
	}
	var rules []HostRule
	for _, spelling := range spellings {
		pattern, err := parse(spelling)
		if err != nil {
			return nil, err
		}
		rules = append(rules, HostRule{Text: text, Pattern: pattern, Origin: origin})
	}
	return rules, nil
}

func readAddresses(r *reader, key string, n node) error {
	items, err := r.texts(key, n)
	if err != nil {
		return err
	}
	for _, item := range items {
		pattern, err := ParseDeniedPattern(item.text)
		if err != nil {
			return r.fault(item, key, "%v", err)
		}
		if !pattern.Prefix.IsValid() || pattern.Port != 0 {
			return r.fault(item, key, "%s: an address or a range belongs here, without a port", quoteCut(item.text))
		}
		r.doc.policy.Network.DeniedAddresses = append(r.doc.policy.Network.DeniedAddresses,
			HostRule{Text: item.text, Pattern: pattern, Origin: r.origin(item)})
	}
	return nil
}

func readReasons(r *reader, key string, n node) error {
	if n.kind != nodeTable {
		return r.wrongType(n, key, nodeTable)
	}
	for _, f := range n.fields {
		reason, err := r.text(key, f.node)
		if err != nil {
			return err
		}
		r.reasons = append(r.reasons, reasonRow{f.key, reason, f.line})
	}
	return nil
}

func readHostTable(r *reader, key string, n node) error {
	if n.kind != nodeTable {
		return r.wrongType(n, key, nodeTable)
	}
	for _, f := range n.fields {
		items := f.items
		if f.kind == nodeText {
			items = []node{f.node}
		} else if f.kind != nodeList || len(items) == 0 {
			return r.fault(f.node, key, "%s needs an address or a list of addresses", quoteCut(f.key))
		}
		entry, err := r.hostEntry(key, f, items)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(r.doc.policy.Network.Hosts, func(e HostEntry) bool { return e.Name == entry.Name }) {
			return r.fault(f.node, key, "%s stands twice", quoteCut(f.key))
		}
		r.doc.policy.Network.Hosts = append(r.doc.policy.Network.Hosts, entry)
	}
	return nil
}

func (r *reader) hostEntry(key string, f field, items []node) (HostEntry, error) {
	var texts []string
	for _, item := range items {
		text, err := r.text(key, item)
		if err != nil {
			return HostEntry{}, err
		}
		texts = append(texts, text)
	}
	entry, msg := newHostEntry(f.key, texts)
	if msg != "" {
		return HostEntry{}, r.fault(f.node, key, "%s", msg)
	}
	entry.Origin = r.origin(f.node)
	return entry, nil
}

// newHostEntry returns what is wrong with the entry, or "".
func newHostEntry(name string, addrs []string) (HostEntry, string) {
	canonical, literal, err := CanonicalHost(name)
	if err != nil {
		return HostEntry{}, err.Error()
	}
	if literal.IsValid() {
		return HostEntry{}, quoteCut(name) + " is an address; a name belongs here"
	}
	entry := HostEntry{Name: canonical}
	for _, text := range addrs {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return HostEntry{}, quoteCut(text) + " is not an IP address"
		}
		entry.Addrs = append(entry.Addrs, addr.Unmap())
	}
	return entry, ""
}

func readHostPorts(r *reader, key string, n node) error {
	if n.kind != nodeList {
		return r.wrongType(n, key, "a list of ports")
	}
	for _, item := range n.items {
		port, err := parsePort(item.text)
		if err != nil {
			return r.fault(item, key, "%v", err)
		}
		r.doc.policy.Network.HostPorts = append(r.doc.policy.Network.HostPorts,
			PortRule{Port: port, Text: item.text, Origin: r.origin(item)})
	}
	return nil
}

func readPublish(r *reader, key string, n node) error {
	if n.kind != nodeList {
		return r.wrongType(n, key, "a list of ports")
	}
	for _, item := range n.items {
		rule, err := parsePublish(item.text)
		if err != nil {
			return r.fault(item, key, "%v", err)
		}
		rule.Origin = r.origin(item)
		r.doc.policy.Network.Publish = append(r.doc.policy.Network.Publish, rule)
	}
	return nil
}

// parsePublish reads "PORT", "OUTSIDE:INSIDE" or "auto".
func parsePublish(text string) (PublishRule, error) {
	if text == "auto" {
		return PublishRule{Auto: true, Text: text}, nil
	}
	first, second, two := strings.Cut(text, ":")
	if !two {
		second = first
	}
	outside, err := parsePort(first)
	if err != nil {
		return PublishRule{}, err
	}
	inside, err := parsePort(second)
	return PublishRule{Outside: outside, Inside: inside, Text: text}, err
}

func readEnvNames(list func(*Policy) *[]EnvRule) func(*reader, string, node) error {
	return func(r *reader, key string, n node) error {
		items, err := r.texts(key, n)
		if err != nil {
			return err
		}
		for _, item := range items {
			if !validEnvName(item.text) {
				return r.fault(item, key, "%s is not a variable's name", quoteCut(item.text))
			}
			into := list(&r.doc.policy)
			*into = append(*into, EnvRule{Name: item.text, Origin: r.origin(item)})
		}
		return nil
	}
}

func readEnvSet(r *reader, key string, n node) error {
	if n.kind != nodeTable {
		return r.wrongType(n, key, nodeTable)
	}
	for _, f := range n.fields {
		switch {
		case !validEnvName(f.key):
			return r.fault(f.node, key, "%s is not a variable's name", quoteCut(f.key))
		case f.kind != nodeText:
			return r.wrongType(f.node, key+"."+f.key, nodeText)
		case strings.ContainsRune(f.text, 0):
			return r.fault(f.node, key+"."+f.key, "holds a NUL byte, which no variable can")
		}
		r.doc.policy.Env.Set = append(r.doc.policy.Env.Set, EnvRule{f.key, f.text, r.origin(f.node)})
	}
	return nil
}

func readMachLookup(r *reader, key string, n node) error {
	items, err := r.texts(key, n)
	if err != nil {
		return err
	}
	for _, item := range items {
		if i := strings.IndexByte(item.text, '*'); i >= 0 && i < len(item.text)-1 {
			return r.fault(item, key, `%s: "*" can only be the last character`, quoteCut(item.text))
		}
		r.doc.policy.Darwin.MachLookup = append(r.doc.policy.Darwin.MachLookup, item.text)
	}
	return nil
}

// readExtends reads the presets that a file builds on.
func readExtends(r *reader, key string, n node) error {
	items, err := r.texts(key, n)
	if err != nil {
		return err
	}
	r.doc.extends = []EnvRule{}
	for _, item := range items {
		if err := knownPreset(item.text); err != nil {
			err.File, err.Line, err.Key = r.src.Name, item.line, key
			return err
		}
		r.doc.extends = append(r.doc.extends, EnvRule{Name: item.text, Origin: r.origin(item)})
	}
	return nil
}

// readAudit reads the audit file's path, which is one of the user's own places
// and so is spelled as in a path list, but names one file.
func readAudit(r *reader, key string, n node) error {
	text, err := r.text(key, n)
	if err != nil {
		return err
	}
	rule, err := r.path(text)
	switch {
	case err != nil:
		return r.fault(n, key, "%s: %v", quoteCut(text), err)
	case rule.Pattern:
		return r.fault(n, key, "%s: a pattern, where one file belongs", quoteCut(text))
	}
	r.doc.settings = append(r.doc.settings, newSetting(key, text, r.origin(n), rule.Path,
		func(p *Policy) *string { return &p.Report.Audit }, neverTight))
	return nil
}

// readReads refuses what no backend can hold to. A refused read ends in the
// kernel: Linux tells no other process of it, fanotify(7) included, and to stop
// every open until its name was looked at would cost each allowed one.
func readReads(r *reader, key string, n node) error {
	wanted, msg := boolean(n)
	switch {
	case msg != "":
		return r.fault(n, key, "%s", msg)
	case wanted:
		return r.fault(n, key, "refused reads cannot be asked for: Linux tells only the command of them (reads-unreported in gosrt limits), macOS reports them anyway")
	}
	return nil
}

// newSetting makes a setting of one field.
func newSetting[T comparable](key, text string, origin Origin, value T, field func(*Policy) *T, tight func(T) bool) setting {
	return setting{
		key: key, text: text, origin: origin,
		tightens: tight(value),
		apply:    func(p *Policy) { *field(p) = value },
		same:     func(p *Policy) bool { return *field(p) == value },
	}
}

// readSetting reads a single value through parse, which returns what is wrong or "".
func readSetting[T comparable](at func(*Policy) *T, parse func(node) (T, string), tight func(T) bool) func(*reader, string, node) error {
	return func(r *reader, key string, n node) error {
		value, msg := parse(n)
		if msg != "" {
			return r.fault(n, key, "%s", msg)
		}
		text := n.text
		if n.kind == nodeBool {
			text = strconv.FormatBool(n.flag)
		}
		r.doc.settings = append(r.doc.settings, newSetting(key, text, r.origin(n), value, at, tight))
		return nil
	}
}

func readWord[T comparable](at func(*Policy) *T, words []word[T], tight func(T) bool) func(*reader, string, node) error {
	return func(r *reader, key string, n node) error {
		text, err := r.text(key, n)
		if err != nil {
			return err
		}
		var texts []string
		for _, w := range words {
			if w.text == text {
				r.doc.settings = append(r.doc.settings, newSetting(key, text, r.origin(n), w.value, at, tight))
				return nil
			}
			texts = append(texts, w.text)
		}
		fault := r.fault(n, key, "%s is not one of %s", quoteCut(text), strings.Join(texts, ", "))
		fault.Suggestion = nearest(text, texts)
		return fault
	}
}

func boolean(n node) (bool, string) {
	if n.kind != nodeBool {
		return false, string(n.kind) + ", where true or false belongs"
	}
	return n.flag, ""
}

func notBoolean(n node) (bool, string) {
	value, msg := boolean(n)
	return !value, msg
}

func absoluteFile(n node) (string, string) {
	switch {
	case n.kind != nodeText:
		return "", string(n.kind) + ", where a path belongs"
	case !path.IsAbs(n.text) || strings.ContainsRune(n.text, 0):
		return "", quoteCut(n.text) + " is not an absolute path"
	}
	return n.text, ""
}

// upstreamURL accepts "", "env" and the URL of a proxy.
func upstreamURL(n node) (string, string) {
	if n.kind != nodeText {
		return "", string(n.kind) + ", where a proxy's URL belongs"
	}
	if n.text == "" || n.text == "env" {
		return n.text, ""
	}
	return n.text, upstreamFault(n.text)
}

func upstreamFault(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return `not "env" and not the URL of a proxy such as http://proxy.example:3128`
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5":
		return "scheme " + quoteCut(u.Scheme) + ": gosrt goes through http, https and socks5 proxies"
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return "a proxy's URL has no path"
	}
	if _, _, err := CanonicalHost(u.Hostname()); err != nil {
		return err.Error()
	}
	if u.Port() != "" {
		if _, err := parsePort(u.Port()); err != nil {
			return err.Error()
		}
	}
	return ""
}
