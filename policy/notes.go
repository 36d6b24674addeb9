package policy

import "strings"

// noteArguments tells the user about arguments that name a file in the host's
// /tmp, which a private /tmp does not show.
func (b *builder) noteArguments(argv []string) {
	tmp, ok := b.privateTmp()
	if !ok {
		return
	}
	for _, arg := range argv {
		if len(arg) == 0 || arg[0] != '/' {
			continue
		}
		at := b.resolve(arg)
		if _, own := private(b.index.covering(at.Path)); own && at.Exists && beneath(tmp, at.Path) {
			b.note("argument %q: not visible, since the command has its own /tmp: add --allow-read %s", arg, quoteArg(arg))
		}
	}
}

// sockets are the Unix sockets the command may connect to, where they really are.
func (b *builder) sockets() []FileRule {
	var rules []FileRule
	roots := b.writePlaces(b.policy.Filesystem.AllowWrite)
	for _, r := range b.policy.Network.UnixSockets {
		p, isPattern := folded(r)
		rule := FileRule{Kind: Socket, Path: p, Pattern: isPattern, Rule: r}
		if isPattern {
			g := newGlob(p)
			rule.Path = join(escape(b.resolve(g.base).Path), strings.Join(g.segments, "/"))
		} else {
			at := b.resolve(p)
			if link, ok := planted(at.Links, roots); ok {
				b.notePlanted(rule, link, at.Path)
				continue
			}
			rule.Path, rule.Exists, rule.Dir = at.Path, at.Exists, at.dir()
			if at.Path != p {
				rule.Spelled = p
			}
		}
		rules = append(rules, rule)
	}
	return rules
}
