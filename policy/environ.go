package policy

import (
	"slices"
	"strings"
)

// ProxyEnv is what the command's environment says about the run itself.
type ProxyEnv struct {
	// HTTPPort and SOCKSPort are where the proxies answer on 127.0.0.1 inside.
	// HTTPPort 0: there is no proxy, and no proxy variable reaches the command.
	HTTPPort, SOCKSPort uint16
	// TmpDir is where TMPDIR, TMP and TEMP point, inside; empty leaves them out.
	TmpDir string
	// SSHProxyCommand is ssh's ProxyCommand that connects through the proxy, with
	// ssh's own %h and %p. Empty: git's ssh connects as it is, and is captured.
	SSHProxyCommand string
}

// Environ makes the command's whole environment, and lists what differs from the
// caller's, sorted by name. Weakest first: the caller's variables without those
// that mode and tables remove; cache and temp directories; proxies; [env] set.
// No name stands twice. Of a name that the caller has twice the last counts, as
// for os/exec.
//
// Scrubbing knows names and shapes. A secret under a name that does not look
// like one reaches the command in mode "scrub"; mode "minimal" is the answer.
func Environ(p Policy, h Host, proxy ProxyEnv) (env []string, changes []EnvChange) {
	e := newEnvironment(h.Env)
	e.scrub(p.Env)
	e.setCaches(p, h)
	e.setTmp(proxy.TmpDir)
	e.setProxies(p, proxy)
	for _, rule := range p.Env.Unset {
		e.remove(rule.Name, "env.unset")
	}
	for _, rule := range p.Env.Set {
		e.set(rule.Name, rule.Value, "env.set")
	}
	return e.list(), e.changes(h.Env)
}

// environment is the set under construction. Order is the caller's, then the
// order of setting.
type environment struct {
	names  []string
	values map[string]string
	why    map[string]string // the reason of the last change
	keep   map[string]bool   // named in env.pass
}

func newEnvironment(entries []string) *environment {
	e := &environment{values: map[string]string{}, why: map[string]string{}, keep: map[string]bool{}}
	for _, entry := range entries {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" || strings.ContainsRune(entry, 0) {
			continue // no program could read it by name
		}
		e.put(name, value)
	}
	return e
}

func (e *environment) put(name, value string) {
	if _, known := e.values[name]; !known {
		e.names = append(e.names, name)
	}
	e.values[name] = value
}

func (e *environment) set(name, value, why string) {
	e.put(name, value)
	e.why[name] = why
}

func (e *environment) remove(name, why string) {
	if _, known := e.values[name]; !known {
		return
	}
	delete(e.values, name)
	e.names = slices.DeleteFunc(e.names, func(n string) bool { return n == name })
	e.why[name] = why
}

func (e *environment) list() []string {
	env := make([]string, 0, len(e.names))
	for _, name := range e.names {
		env = append(env, name+"="+e.values[name])
	}
	return env
}

func (e *environment) changes(caller []string) []EnvChange {
	before := newEnvironment(caller).values
	var changes []EnvChange
	for name, why := range e.why {
		old, had := before[name]
		value, has := e.values[name]
		switch {
		case has && (!had || old != value):
			changes = append(changes, EnvChange{Name: name, Op: EnvSet, Value: value, Reason: why})
		case had && !has:
			changes = append(changes, EnvChange{Name: name, Op: EnvRemoved, Reason: why})
		}
	}
	slices.SortFunc(changes, func(a, b EnvChange) int { return strings.Compare(a.Name, b.Name) })
	return changes
}

// scrub removes what the mode and the tables say, less what env.pass keeps.
func (e *environment) scrub(rules Env) {
	for _, rule := range rules.Pass {
		e.keep[rule.Name] = true
	}
	for _, name := range slices.Clone(e.names) {
		if e.keep[name] {
			continue
		}
		if why := scrubReason(name, e.values[name]); why != "" {
			e.remove(name, why)
		} else if rules.Minimal && !minimalName(name) {
			e.remove(name, `not one of the few that mode "minimal" keeps`)
		}
	}
}

// minimalNames is what mode "minimal" starts from: who and where the user is,
// how to speak to them, and whether this is CI.
var minimalNames = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TZ", "LANG", "LANGUAGE",
	"TERM", "TERMINFO", "TERMINFO_DIRS", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "COLUMNS", "LINES", "CI",
}

func minimalName(name string) bool {
	return slices.Contains(minimalNames, name) || strings.HasPrefix(name, "LC_")
}

func (e *environment) setTmp(dir string) {
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		if dir != "" {
			e.set(name, dir, "the run's own temp directory")
		}
	}
}
