package policy

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Show writes the effective policy as TOML, with the origin of each entry in a
// comment. ParseTOML reads it back to the same policy, except for what only a
// comment can say: entries that are not UTF-8, and values that look like secrets.
func Show(p Policy) string {
	s := &shower{}
	s.head(p)
	s.filesystem(p.Filesystem)
	s.network(p.Network)
	s.env(p.Env)
	s.report(p.Report)
	s.darwin(p.Darwin)
	return s.String()
}

type shower struct{ strings.Builder }

func (s *shower) line(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }

func (s *shower) section(name string) { s.line("\n[%s]", name) }

func (s *shower) head(p Policy) {
	for _, layer := range p.Layers {
		s.line("# layer: %s", oneLine(layer.String()))
	}
	for _, note := range p.Notes {
		s.line("# note: %s", oneLine(note))
	}
	for _, text := range p.Untrusted {
		s.line("# not applied, because the project file is not trusted: %s", oneLine(text))
	}
	s.line("extends = [] # all layers are written out below")
	if p.Bwrap != "" {
		s.text("bwrap", p.Bwrap)
	}
}

// String names a layer for people: its kind, and the file where there is one.
func (l LayerInfo) String() string {
	kind := map[Layer]string{
		LayerBuiltin: "built-in default", LayerPreset: "preset", LayerUser: "user file", LayerProject: "project file",
		LayerSettings: "srt settings", LayerFile: "policy file", LayerFlag: "flags", LayerLibrary: "library", LayerManaged: "managed file",
	}[l.Layer]
	if l.Name == "" {
		return kind
	}
	return kind + " " + l.Name
}

func (s *shower) filesystem(f Filesystem) {
	s.section("filesystem")
	s.paths("denyRead", f.DenyRead)
	s.paths("allowRead", f.AllowRead)
	s.paths("allowWrite", f.AllowWrite)
	s.paths("denyWrite", f.DenyWrite)
	s.text("tmp", spell(tmpWords, f.Tmp))
	s.text("absent", spell(absentWords, f.Absent))
	if f.WriteImpliesRead {
		s.line("writeImpliesRead = true # as in srt's settings")
	}
}

func (s *shower) network(n Network) {
	s.section("network")
	s.hosts("allowedDomains", n.Allowed)
	s.hosts("deniedDomains", n.Denied)
	for _, rule := range AlwaysDenied() {
		s.line("# always denied: %s, %s", rule.Text, rule.Reason)
	}
	s.hosts("deniedResolvedAddresses", n.DeniedAddresses)
	s.text("privateAddresses", spell(privateWords, n.PrivateDenied))
	s.text("sni", spell(sniWords, n.SNIIgnored))
	s.line("transparent = %t", !n.NoTransparent)
	s.line("ask = %t", n.Ask)
	if urlPassword(n.Upstream) {
		u, _ := url.Parse(n.Upstream)
		s.line("# upstream is set, with a password: %s", oneLine(u.Redacted()))
	} else {
		s.text("upstream", n.Upstream)
	}
	s.paths("allowUnixSockets", n.UnixSockets)
	var ports, publish []entry
	for _, rule := range n.HostPorts {
		ports = append(ports, entry{strconv.Itoa(int(rule.Port)), rule.Origin.String()})
	}
	for _, rule := range n.Publish {
		publish = append(publish, entry{rule.String(), rule.Origin.String()})
	}
	s.list("hostPorts", ports)
	s.list("publish", publish)
	s.reasons(n.Denied)
	s.hostTable(n.Hosts)
}

func (r PublishRule) String() string {
	if r.Auto {
		return "auto"
	}
	return fmt.Sprintf("%d:%d", r.Outside, r.Inside)
}

// reasons writes the table that joins by an entry's text, each text once.
func (s *shower) reasons(denied []HostRule) {
	seen := map[string]bool{}
	for _, rule := range denied {
		name := rule.Pattern.String()
		if rule.Reason == "" || seen[name] {
			continue
		}
		if len(seen) == 0 {
			s.section("network.deniedDomainReasons")
		}
		seen[name] = true
		s.line("%s = %s", tomlString(name), tomlString(rule.Reason))
	}
}

func (s *shower) hostTable(hosts []HostEntry) {
	if len(hosts) == 0 {
		return
	}
	s.section("network.hosts")
	for _, entry := range hosts {
		var addrs []string
		for _, addr := range entry.Addrs {
			addrs = append(addrs, tomlString(addr.String()))
		}
		s.line("%s = [%s] # %s", tomlString(entry.Name), strings.Join(addrs, ", "), oneLine(entry.Origin.String()))
	}
}

func (s *shower) env(e Env) {
	s.section("env")
	s.text("mode", spell(envWords, e.Minimal))
	s.names("pass", e.Pass)
	s.names("unset", e.Unset)
	if len(e.Set) > 0 {
		s.section("env.set")
	}
	for _, rule := range e.Set {
		switch {
		case secretReason(rule.Name, rule.Value) != "":
			s.line("# %s is set by %s; the value looks like a secret", rule.Name, oneLine(rule.Origin.String()))
		case !utf8.ValidString(rule.Value):
			s.line("# %s is set by %s to %s", rule.Name, oneLine(rule.Origin.String()), strconv.QuoteToASCII(rule.Value))
		default:
			s.line("%s = %s # %s", rule.Name, tomlString(rule.Value), oneLine(rule.Origin.String()))
		}
	}
}

func (s *shower) report(r Report) {
	if r.Audit == "" {
		return
	}
	s.section("report")
	s.text("audit", pathSpelling(PathRule{Path: r.Audit}))
}

func (s *shower) darwin(d Darwin) {
	s.section("darwin")
	for _, row := range []struct {
		key string
		on  bool
	}{
		{"trustd", d.Trustd}, {"appleEvents", d.AppleEvents}, {"keychain", d.Keychain},
		{"launchServices", d.LaunchServices}, {"pty", d.Pty},
	} {
		s.line("%s = %t", row.key, row.on)
	}
	var names []entry
	for _, name := range d.MachLookup {
		names = append(names, entry{text: name})
	}
	s.list("machLookup", names)
}

// entry is one line of a list.
type entry struct{ text, why string }

func (s *shower) list(key string, entries []entry) {
	if len(entries) == 0 {
		s.line("%s = []", key)
		return
	}
	s.line("%s = [", key)
	for _, e := range entries {
		switch {
		case !utf8.ValidString(e.text):
			s.line("  # not UTF-8: %s, %s", strconv.QuoteToASCII(e.text), oneLine(e.why))
		case e.why == "":
			s.line("  %s,", tomlString(e.text))
		default:
			s.line("  %s, # %s", tomlString(e.text), oneLine(e.why))
		}
	}
	s.line("]")
}

func (s *shower) text(key, value string) { s.line("%s = %s", key, tomlString(value)) }

func (s *shower) paths(key string, rules []PathRule) {
	var entries []entry
	for _, rule := range rules {
		entries = append(entries, entry{pathSpelling(rule), why(rule.Text, rule.Path, rule.Origin, rule.Reason)})
	}
	s.list(key, entries)
}

func (s *shower) hosts(key string, rules []HostRule) {
	var entries []entry
	for _, rule := range rules {
		text := rule.Pattern.String()
		entries = append(entries, entry{text, why(rule.Text, text, rule.Origin, "")})
	}
	s.list(key, entries)
}

func (s *shower) names(key string, rules []EnvRule) {
	var entries []entry
	for _, rule := range rules {
		entries = append(entries, entry{rule.Name, rule.Origin.String()})
	}
	s.list(key, entries)
}

// why is the comment behind an entry: what the user wrote, where that differs,
// its origin, and the reason of a built-in row.
func why(written, shown string, origin Origin, reason string) string {
	var parts []string
	if written != shown {
		parts = append(parts, written)
	}
	parts = append(parts, origin.String())
	if reason != "" {
		parts = append(parts, reason)
	}
	return strings.Join(parts, ", ")
}

// pathSpelling is an entry that expandPath reads back to the same rule.
func pathSpelling(rule PathRule) string {
	text := rule.Path
	if !rule.Pattern {
		text = escape(text)
	}
	return strings.ReplaceAll(text, "$", `\$`)
}

func spell[T comparable](words []word[T], value T) string {
	for _, w := range words {
		if w.value == value {
			return w.text
		}
	}
	return ""
}

// tomlString quotes text for TOML: a literal string where that is possible,
// since paths with escapes stay readable in it.
func tomlString(text string) string {
	if strings.ContainsAny(text, `\"`) && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\'' }) {
		return "'" + text + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
