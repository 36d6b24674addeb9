package policy

import (
	"bytes"
	"slices"
)

// liveKeys can change while a command runs; everything else is put up once.
var liveKeys = slices.DeleteFunc(slices.Clone(tomlKeys), func(row keyRow) bool {
	return row.section != "network" || !slices.Contains([]string{"allowedDomains", "deniedDomains", "deniedDomainReasons"}, row.key)
})

// Update returns n with each list that a document gives in place of n's own. The
// document is TOML or JSON with the keys of a policy file; a key that cannot
// change for a running command is an error, as is all that ParseTOML refuses.
// Denials of the managed file and the built-in ones stay.
func (n Network) Update(src Source, v Vars) (Network, error) {
	tree := tomlTree
	if bytes.HasPrefix(bytes.TrimSpace(src.Data), []byte("{")) {
		tree = jsonTree
	}
	root, err := tree(src)
	if err != nil {
		return n, err
	}
	doc, err := readDocument(src, v, root, liveKeys, nil)
	if err != nil {
		return n, err
	}
	section, _ := root.field("network")
	if _, given := section.field("allowedDomains"); given {
		n.Allowed = doc.policy.Network.Allowed
	}
	if _, given := section.field("deniedDomains"); given {
		n.Denied = append(lastingDenials(n.Denied), doc.policy.Network.Denied...)
	}
	return n, nil
}

// lastingDenials are those that no document takes away.
func lastingDenials(rules []HostRule) []HostRule {
	return slices.DeleteFunc(slices.Clone(rules), func(r HostRule) bool {
		return r.Origin.Layer != LayerManaged && r.Origin.Layer != LayerBuiltin
	})
}

// Extend returns n with further hosts that are allowed and denied, as the flags
// --allow-domain and --deny-domain spell them. Denials win, as everywhere.
func (n Network) Extend(allow, deny []string) (Network, error) {
	flags := Flags{AllowDomain: allow, DenyDomain: deny}
	doc, err := flags.document("/", Vars{})
	if err != nil {
		return n, err
	}
	n.Allowed = slices.Concat(n.Allowed, doc.policy.Network.Allowed)
	n.Denied = slices.Concat(n.Denied, doc.policy.Network.Denied)
	return n, nil
}
