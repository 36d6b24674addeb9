package policy

import (
	"slices"
	"strings"
)

// Keys of a git configuration that make git on the host run a program, or send
// code or credentials elsewhere. A repository that a command makes has a
// configuration that git writes by itself, and none of these is in it.

// gitKey is one row: section.key or section.*.key, in lower case; "*" as the key
// stands for any. When is nil for keys that count with every value.
type gitKey struct {
	key  string
	when func(value string) bool
}

var gitPrograms = slices.Concat(
	gitKeys(nil,
		"core.hookspath", "core.sshcommand", "core.pager", "core.editor", "core.askpass", "core.gitproxy",
		"core.alternaterefscommand", "core.attributesfile", "sequence.editor", "credential.helper", "credential.*.helper",
		"interactive.difffilter", "diff.external", "diff.*.command", "diff.*.textconv", "merge.*.driver",
		"filter.*.clean", "filter.*.smudge", "filter.*.process", "gpg.program", "gpg.*.program", "gpg.ssh.defaultkeycommand",
		"trailer.*.command", "trailer.*.cmd", "tar.*.command", "uploadpack.packobjectshook", "init.templatedir", "hook.*.command",
		"difftool.*.cmd", "difftool.*.path", "mergetool.*.cmd", "mergetool.*.path", "browser.*.cmd", "browser.*.path",
		"man.*.cmd", "man.*.path", "web.browser", "help.browser", "instaweb.browser", "guitool.*.cmd", "imap.tunnel",
		"sendemail.smtpserver", "sendemail.tocmd", "sendemail.cccmd", "sendemail.headercmd", "sendemail.sendmailcmd",
		"remote.*.vcs", "remote.*.uploadpack", "remote.*.receivepack", "url.*.insteadof", "url.*.pushinsteadof",
		"http.proxy", "http.*.proxy", "remote.*.proxy", "http.extraheader", "http.*.extraheader", "http.sslcainfo", "http.*.sslcainfo",
		"include.path", "includeif.*.path"),
	gitKeys(notBool, "core.fsmonitor", "pager.*"),
	gitKeys(shellCommand, "alias.*", "alias.*.command", "submodule.*.update"),
	gitKeys(foreignTransport, "remote.*.url", "remote.*.pushurl", "submodule.*.url"),
	gitKeys(func(v string) bool { return strings.EqualFold(v, "always") }, "protocol.allow", "protocol.*.allow"),
	gitKeys(isFalse, "http.sslverify", "http.*.sslverify"),
)

func gitKeys(when func(string) bool, keys ...string) []gitKey {
	rows := make([]gitKey, len(keys))
	for i, k := range keys {
		rows[i] = gitKey{k, when}
	}
	return rows
}

// notBool: a truth value switches git's own daemon or pager, anything else is a program.
func notBool(v string) bool {
	return !isFalse(v) && !slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(v))
}

func isFalse(v string) bool {
	return slices.Contains([]string{"", "false", "no", "off", "0"}, strings.ToLower(v))
}

func shellCommand(v string) bool { return strings.HasPrefix(v, "!") }

// foreignTransport: "ext::sh -c …" and "helper::…" name a program (gitremote-helpers(7)).
func foreignTransport(v string) bool { return strings.Contains(v, "::") }

// GitPrograms lists the keys of a git configuration file that make git run a
// program or redirect it, sorted, none twice.
func GitPrograms(text []byte) []string {
	var found []string
	for _, e := range gitEntries(text) {
		for _, row := range gitPrograms {
			if e.matches(row.key) && (row.when == nil || row.when(e.value)) {
				found = append(found, e.name())
				break
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// gitEntry is one line of a git configuration. Section and key are in lower case,
// as git compares them; a key without a value is true.
type gitEntry struct{ section, sub, key, value string }

func (e gitEntry) name() string {
	if e.sub == "" {
		return e.section + "." + e.key
	}
	return e.section + "." + e.sub + "." + e.key
}

func (e gitEntry) matches(pattern string) bool {
	section, rest, _ := strings.Cut(pattern, ".")
	key := rest
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		sub := rest[:i]
		key = rest[i+1:]
		if e.sub == "" || sub != "*" && !strings.EqualFold(sub, e.sub) {
			return false
		}
	} else if e.sub != "" {
		return false
	}
	return e.section == section && (key == "*" || key == e.key)
}

// gitEntries reads a configuration file (git-config(1), "Syntax"). What git
// would refuse is read as far as it goes.
func gitEntries(text []byte) []gitEntry {
	var entries []gitEntry
	var section, sub string
	for line := range strings.SplitSeq(gitLines.Replace(string(text)), "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section, sub, line = gitSection(line[1:])
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, given := strings.Cut(line, "=")
		e := gitEntry{section, sub, strings.ToLower(strings.TrimSpace(key)), "true"}
		if given {
			e.value = unquoteGit(strings.TrimSpace(value))
		}
		entries = append(entries, e)
	}
	return entries
}

// gitSection reads [name "sub"] after its first bracket and returns the rest of the line.
func gitSection(line string) (section, sub, rest string) {
	end := strings.IndexAny(line, `"]`)
	if end < 0 {
		return strings.ToLower(strings.TrimSpace(line)), "", ""
	}
	section = strings.ToLower(strings.TrimSpace(line[:end]))
	if line[end] == ']' {
		if name, old, dotted := strings.Cut(section, "."); dotted { // the old form [name.sub]
			section, sub = name, old
		}
		return section, sub, strings.TrimSpace(line[end+1:])
	}
	var b strings.Builder
	i := end + 1
	for ; i < len(line) && line[i] != '"'; i++ {
		if line[i] == '\\' && i+1 < len(line) {
			i++
		}
		b.WriteByte(line[i])
	}
	_, rest, _ = strings.Cut(line[min(i, len(line)):], "]")
	return section, b.String(), strings.TrimSpace(rest)
}
