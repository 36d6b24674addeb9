package policy

import (
	"fmt"
	"slices"
	"strings"
)

// The lists of a policy by the way they act. A denial only takes away, whoever
// wrote it; a grant is what a managed or untrusted file may not write.
type pathList struct {
	key    string
	grants bool
	at     func(*Policy) *[]PathRule
}

var pathLists = []pathList{
	{"denyRead", false, func(p *Policy) *[]PathRule { return &p.Filesystem.DenyRead }},
	{"allowRead", true, func(p *Policy) *[]PathRule { return &p.Filesystem.AllowRead }},
	{"allowWrite", true, func(p *Policy) *[]PathRule { return &p.Filesystem.AllowWrite }},
	{"denyWrite", false, func(p *Policy) *[]PathRule { return &p.Filesystem.DenyWrite }},
	{"allowUnixSockets", true, func(p *Policy) *[]PathRule { return &p.Network.UnixSockets }},
}

type hostList struct {
	key    string
	grants bool
	at     func(*Policy) *[]HostRule
}

var hostLists = []hostList{
	{"allowedDomains", true, func(p *Policy) *[]HostRule { return &p.Network.Allowed }},
	{"deniedDomains", false, func(p *Policy) *[]HostRule { return &p.Network.Denied }},
	{"deniedResolvedAddresses", false, func(p *Policy) *[]HostRule { return &p.Network.DeniedAddresses }},
}

type envList struct {
	key    string
	grants bool
	at     func(*Policy) *[]EnvRule
}

var envLists = []envList{
	{"env.pass", true, func(p *Policy) *[]EnvRule { return &p.Env.Pass }},
	{"env.set", true, func(p *Policy) *[]EnvRule { return &p.Env.Set }},
	{"env.unset", false, func(p *Policy) *[]EnvRule { return &p.Env.Unset }},
}

// add appends every list of a document, and applies its settings.
func (p *Policy) add(d document) {
	for _, l := range pathLists {
		*l.at(p) = append(*l.at(p), *l.at(&d.policy)...)
	}
	for _, l := range hostLists {
		*l.at(p) = append(*l.at(p), *l.at(&d.policy)...)
	}
	p.Env.Pass = append(p.Env.Pass, d.policy.Env.Pass...)
	p.Env.Unset = append(p.Env.Unset, d.policy.Env.Unset...)
	for _, rule := range d.policy.Env.Set {
		p.Env.Set = replace(p.Env.Set, rule, func(old EnvRule) bool { return old.Name == rule.Name })
	}
	for _, entry := range d.policy.Network.Hosts {
		p.Network.Hosts = replace(p.Network.Hosts, entry, func(old HostEntry) bool { return old.Name == entry.Name })
	}
	p.Network.HostPorts = append(p.Network.HostPorts, d.policy.Network.HostPorts...)
	p.Network.Publish = append(p.Network.Publish, d.policy.Network.Publish...)
	p.Darwin.MachLookup = append(p.Darwin.MachLookup, d.policy.Darwin.MachLookup...)
	p.Notes = append(p.Notes, d.policy.Notes...)
	p.Filesystem.WriteImpliesRead = p.Filesystem.WriteImpliesRead || d.policy.Filesystem.WriteImpliesRead
	for _, s := range d.settings {
		s.apply(p)
	}
	p.Layers = append(p.Layers, d.info)
}

// replace appends value in place of an earlier one of the same name: tables of
// names hold one value each, and the stronger layer's counts.
func replace[T any](list []T, value T, same func(T) bool) []T {
	return append(slices.DeleteFunc(list, same), value)
}

// grant is one thing that a document would open.
type grant struct {
	key, text string
	origin    Origin
}

func (g grant) String() string {
	return fmt.Sprintf("%s %s (%s)", g.key, quoteCut(g.text), g.origin)
}

// split takes the grants out of a document: what remains only tightens base.
func (d document) split(base Policy) (tight document, grants []grant) {
	tight = d
	tight.extends = nil
	for _, l := range pathLists {
		if l.grants {
			for _, rule := range *l.at(&d.policy) {
				grants = append(grants, grant{l.key, rule.Text, rule.Origin})
			}
			*l.at(&tight.policy) = nil
		}
	}
	for _, l := range hostLists {
		if l.grants {
			for _, rule := range *l.at(&d.policy) {
				grants = append(grants, grant{l.key, rule.Text, rule.Origin})
			}
			*l.at(&tight.policy) = nil
		}
	}
	for _, l := range envLists {
		if l.grants {
			for _, rule := range *l.at(&d.policy) {
				grants = append(grants, grant{l.key, rule.Name, rule.Origin})
			}
			*l.at(&tight.policy) = nil
		}
	}
	grants = append(grants, tight.splitRest()...)
	grants = append(grants, tight.splitSettings(d, base)...)
	grants = append(grants, d.extendsGrants()...)
	return tight, slices.Compact(grants) // ".example.org" is two rules but one entry
}

// splitRest takes the lists that are all grants.
func (d *document) splitRest() []grant {
	var grants []grant
	n := &d.policy.Network
	for _, rule := range n.HostPorts {
		grants = append(grants, grant{"hostPorts", rule.Text, rule.Origin})
	}
	for _, rule := range n.Publish {
		grants = append(grants, grant{"publish", rule.Text, rule.Origin})
	}
	for _, entry := range n.Hosts {
		grants = append(grants, grant{"hosts", entry.Name, entry.Origin})
	}
	for _, name := range d.policy.Darwin.MachLookup {
		grants = append(grants, grant{"machLookup", name, Origin{Layer: d.info.Layer, Name: d.info.Name}})
	}
	n.HostPorts, n.Publish, n.Hosts, d.policy.Darwin.MachLookup = nil, nil, nil, nil
	return grants
}

// splitSettings keeps the settings that tighten. One that repeats what holds
// anyway is dropped without a word.
func (tight *document) splitSettings(d document, base Policy) []grant {
	var grants []grant
	tight.settings = nil
	for _, s := range d.settings {
		switch {
		case s.tightens:
			tight.settings = append(tight.settings, s)
		case !s.same(&base):
			grants = append(grants, grant{s.key, s.text, s.origin})
		}
	}
	return grants
}

// extendsGrants: a preset opens something, and an empty list drops what the
// built-in default hides.
func (d document) extendsGrants() []grant {
	var grants []grant
	for _, name := range d.extends {
		if name.Name != BuiltinName {
			grants = append(grants, grant{"extends", name.Name, name.Origin})
		}
	}
	if d.dropsBuiltin() {
		grants = append(grants, grant{"extends", "[]", Origin{Layer: d.info.Layer, Name: d.info.Name}})
	}
	return grants
}

func (d document) dropsBuiltin() bool { return d.extends != nil && len(d.extends) == 0 }

// dropOpened takes away the variables that a managed file unsets, so that
// nothing sets or keeps them.
func (p *Policy) dropOpened(managed document) {
	for _, unset := range managed.policy.Env.Unset {
		named := func(rule EnvRule) bool { return strings.EqualFold(rule.Name, unset.Name) }
		p.Env.Pass = slices.DeleteFunc(p.Env.Pass, named)
		p.Env.Set = slices.DeleteFunc(p.Env.Set, named)
	}
}
