package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Own devices: what bwrap's --dev makes, so a rule that names one is already
// true (bubblewrap.c, SETUP_MOUNT_DEV).
var ownDevices = []string{"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx", "pts", "shm",
	"fd", "stdin", "stdout", "stderr", "core"}

// freshRules are the trees that the run has for itself.
func (b *builder) freshRules() {
	if b.host.OS != "linux" {
		return
	}
	fresh := func(p, text string) {
		b.files = append(b.files, FileRule{Kind: AllowWrite, Path: p, Exists: true, Dir: true, Fresh: true,
			Rule: PathRule{Text: text, Path: p, Group: "run"}})
	}
	fresh("/proc", "the run's own /proc")
	fresh("/dev", "the run's own /dev")
	for _, name := range procReadOnly {
		p := "/proc/" + name
		b.add(FileRule{Kind: Protect, Final: true,
			Rule: PathRule{Text: p, Path: p, Group: "run", Reason: "it acts on the whole machine"}}, p, b.resolve(p))
	}
	if tmp, ok := b.privateTmp(); ok {
		fresh(tmp, `tmp = "private"`)
	}
}

// privateTmp is where the private /tmp goes, unless the policy shows the host's:
// tmp = "host", or an allowWrite of exactly /tmp, which only the host's can mean.
func (b *builder) privateTmp() (string, bool) {
	if b.policy.Filesystem.Tmp != TmpPrivate {
		return "", false
	}
	tmp := b.resolve("/tmp")
	if !tmp.dir() {
		return "", false
	}
	for _, r := range b.policy.Filesystem.AllowWrite {
		if p, _ := folded(r); p == "/tmp" || p == tmp.Path {
			return "", false
		}
	}
	return tmp.Path, true
}

// tmpDir is where TMPDIR points: the private /tmp, or bwrap's own /dev/shm, which
// is private too.
func (b *builder) tmpDir() string {
	switch _, private := b.privateTmp(); {
	case b.host.OS != "linux":
		return ""
	case private:
		return "/tmp"
	}
	return "/dev/shm"
}

// folded drops a trailing /** from a pattern: both cover the directory and all
// beneath it. It says whether wildcards are left.
func folded(r PathRule) (string, bool) {
	if !r.Pattern {
		return r.Path, false
	}
	p := r.Path
	for strings.HasSuffix(p, "/**") {
		p = strings.TrimSuffix(p, "/**")
	}
	if p == "" {
		return "/", false
	}
	if slices.ContainsFunc(components(p), wild) {
		return p, true
	}
	return unescape(p), false
}

// userRules puts the four lists at the places where they really are.
func (b *builder) userRules() error {
	fs := b.policy.Filesystem
	for _, r := range fs.DenyRead {
		if err := b.deny(DenyRead, r); err != nil {
			return err
		}
	}
	for _, r := range fs.DenyWrite {
		if err := b.deny(DenyWrite, r); err != nil {
			return err
		}
	}
	roots := b.writePlaces(fs.AllowWrite)
	for _, r := range fs.AllowRead {
		if err := b.allowRead(r, roots); err != nil {
			return err
		}
	}
	for _, r := range fs.AllowWrite {
		if err := b.allowWrite(r, roots); err != nil {
			return err
		}
	}
	return nil
}

// writePlaces resolves every allowWrite entry, for judging links.
func (b *builder) writePlaces(rules []PathRule) []string {
	var places []string
	for _, r := range rules {
		if p, wild := folded(r); !wild {
			places = append(places, b.resolve(p).Path)
		}
	}
	return places
}

// deny adds a denial at the place where the entry really is, and at each link it
// was spelled through: replacing the link would make the spelling mean another file.
func (b *builder) deny(kind FileKind, r PathRule) error {
	p, isPattern := folded(r)
	if b.host.OS == "linux" && (within("/proc", p) || within("/dev", p)) {
		return ruleError(kind, r, "the command gets its own /proc and /dev, which hold nothing of the host's: remove the entry")
	}
	rule := FileRule{Kind: kind, Rule: r, Final: kind == DenyRead && r.Origin.Layer == LayerManaged, Empty: r.Empty}
	if isPattern {
		return b.addPattern(rule, p)
	}
	if tool := b.shownEmpty(p); kind == DenyRead && tool != "" {
		rule.Empty = true
		rule.Rule.Reason = "shown empty: " + tool
	}
	b.denyAt(rule, p)
	return nil
}

// denyAt is deny for a literal path. It never fails: whatever cannot be known
// closes more, not less.
func (b *builder) denyAt(rule FileRule, p string) {
	at := b.resolve(p)
	if !b.ownTree(at.Path) { // through a link: the command's own /proc holds nothing to deny
		b.add(rule, p, at)
	}
	for _, link := range at.Links {
		b.addLink(rule, p, link)
	}
}

// addLink keeps a link for linkRules. A denied place behind a link may still be
// read and written by that name only, so the link itself is held against change.
func (b *builder) addLink(rule FileRule, spelled, link string) {
	if rule.Kind == DenyRead {
		rule.Kind = DenyWrite
	}
	b.links = append(b.links, FileRule{Kind: rule.Kind, Path: link, Spelled: spelled, Exists: true, Link: true, Exact: true,
		Final: rule.Final, Rule: rule.Rule})
}

// linkRules holds the links that lie in a write root; nobody can change the others.
func (b *builder) linkRules() {
	roots := b.writeRoots()
	seen := map[string]bool{}
	for _, link := range b.links {
		if key := string(link.Kind) + link.Path; !seen[key] && inRoots(roots, place{Path: link.Path}) {
			seen[key] = true
			b.files = append(b.files, link)
		}
	}
}

// add puts a rule at a resolved place.
func (b *builder) add(rule FileRule, spelled string, at place) {
	rule.Path, rule.Exists, rule.Dir, rule.Link = at.Path, at.Exists, at.dir(), at.Loop
	if at.Path != path.Clean(spelled) {
		rule.Spelled = spelled
	}
	if at.Exists && !at.Loop {
		b.infos[at.Path] = at.Info
	}
	b.files = append(b.files, rule)
}

func (b *builder) addPattern(rule FileRule, pattern string) error {
	g := newGlob(pattern)
	if len(g.segments) > maxSegments {
		return ruleError(rule.Kind, rule.Rule, fmt.Sprintf("more than %d components with wildcards: name a directory nearer to it", maxSegments))
	}
	base := b.resolve(g.base)
	if base.Blind { // what it matches cannot be known: the directory is denied whole
		b.add(rule, g.base, base)
		return nil
	}
	for _, link := range base.Links {
		b.addLink(rule, g.base, link)
	}
	rule.Pattern = true
	rule.Path = join(escape(base.Path), strings.Join(g.segments, "/"))
	if base.Path != g.base {
		rule.Spelled = pattern
	}
	b.files = append(b.files, rule)
	return nil
}

// builtin says that a rule is not the user's own wording, so that a place which
// this host does not have is no mistake.
func builtin(r PathRule) bool {
	return r.Origin.Layer == LayerBuiltin || r.Origin.Layer == LayerPreset
}

// allowRead re-opens a place. A place that does not exist needs no opening.
func (b *builder) allowRead(r PathRule, roots []string) error {
	p, isPattern := folded(r)
	rule := FileRule{Kind: AllowRead, Rule: r}
	if isPattern {
		return b.addPattern(rule, p)
	}
	at := b.resolve(p)
	switch {
	case at.Blind && !builtin(r):
		return ruleError(AllowRead, r, fmt.Sprintf("%q cannot be searched: permission denied", at.Path))
	case at.Blind || at.Loop || !at.Exists:
		return nil
	case b.ownTree(at.Path):
		return nil // the command's own are always readable
	}
	if link, ok := planted(at.Links, roots); ok {
		b.notePlanted(rule, link, at.Path)
		return nil
	}
	b.shown = append(b.shown, at.Links...)
	b.add(rule, p, at)
	return nil
}

// planted finds a link that the command could have put there, in this run or an
// earlier one: an allow that follows it would open what the command chose.
func planted(links, roots []string) (string, bool) {
	for _, link := range links {
		for _, root := range roots {
			if beneath(root, link) {
				return link, true
			}
		}
	}
	return "", false
}

func (b *builder) notePlanted(rule FileRule, link, target string) {
	b.note("%s %q: not applied: %q is a link inside a write root, which the command could change: name %q itself",
		rule.Kind, rule.Rule.Text, link, target)
}

func (b *builder) allowWrite(r PathRule, roots []string) error {
	p, isPattern := folded(r)
	if isPattern {
		return ruleError(AllowWrite, r, fmt.Sprintf("a pattern cannot be held for names that appear later: allow the directory %q", newGlob(p).base))
	}
	at := b.resolve(p)
	lenient := builtin(r) || r.Origin.Layer == LayerSettings
	if b.ownTree(at.Path) {
		return b.allowOwnTree(r, at, lenient)
	}
	switch {
	case at.Blind:
		return ruleError(AllowWrite, r, fmt.Sprintf("%q cannot be searched: permission denied", at.Path))
	case at.Loop && !lenient:
		return ruleError(AllowWrite, r, fmt.Sprintf("the link %q leads to itself", at.Path))
	case !at.Exists && !lenient:
		return ruleError(AllowWrite, r, "does not exist: create it first, with mkdir -p "+quoteArg(at.Path))
	case at.Loop || !at.Exists:
		return nil
	}
	rule := FileRule{Kind: AllowWrite, Rule: r}
	if link, ok := planted(at.Links, roots); ok {
		b.notePlanted(rule, link, at.Path)
		return nil
	}
	b.shown = append(b.shown, at.Links...)
	b.add(rule, p, at)
	if b.policy.Filesystem.WriteImpliesRead {
		b.add(FileRule{Kind: AllowRead, Rule: r}, p, at)
	}
	return nil
}

// ownTree says that p lies in /proc or /dev, where the command gets its own. A
// directory in /dev/shm is the host's, and can be shown.
func (b *builder) ownTree(p string) bool {
	return b.host.OS == "linux" && (within("/proc", p) || within("/dev", p) && !beneath("/dev/shm", p))
}

func (b *builder) allowOwnTree(r PathRule, at place, lenient bool) error {
	name := strings.TrimPrefix(at.Path, "/dev/")
	if lenient || at.Path == "/dev" || slices.Contains(ownDevices, name) {
		return nil
	}
	return ruleError(AllowWrite, r, "the command gets its own /proc and a minimal /dev: this place cannot be opened")
}

// ownRules are gosrt's own files, and the working directory under a private /tmp.
func (b *builder) ownRules() {
	own := func(kind FileKind, p, reason string) {
		if p == "" {
			return
		}
		b.denyAt(FileRule{Kind: kind, Final: true, Rule: PathRule{Text: p, Path: p, Group: "gosrt", Reason: reason}}, p)
	}
	own(DenyRead, b.host.StateDir, "gosrt's own state")
	own(Protect, b.host.StateDir, "gosrt's own state")
	own(Protect, b.host.ConfigDir, "gosrt's own policy files")
	own(Protect, b.host.CacheRoot, "the caches of other projects")
	own(Protect, b.host.Executable, "gosrt's own program")
	own(Protect, b.policy.Bwrap, "the bwrap that gosrt runs")
	b.cacheRules()
	if tmp, ok := b.privateTmp(); ok && within(tmp, b.dir.Path) || beneath("/dev/shm", b.dir.Path) {
		b.add(FileRule{Kind: AllowRead, Rule: PathRule{Text: "the working directory", Path: b.dir.Path, Group: "run"}}, b.dir.Path, b.dir)
	}
}

// cacheRules open this project's cache directory, wherever it lies: the places
// that a policy hides or protects are the user's, this one is the run's.
func (b *builder) cacheRules() {
	at := b.resolve(b.host.CacheDir)
	if b.host.CacheDir == "" || !at.dir() {
		return
	}
	rule := FileRule{Final: true, Rule: PathRule{Text: "this project's cache", Path: at.Path, Group: "run"}}
	for _, kind := range []FileKind{AllowRead, AllowWrite} {
		rule.Kind = kind
		b.add(rule, at.Path, at)
	}
}

// writeRoots are the host's places that the command may write, shallow first.
func (b *builder) writeRoots() []FileRule {
	var roots []FileRule
	for _, r := range b.files {
		if r.Kind == AllowWrite && !r.Fresh && r.Rule.Group != "run" {
			roots = append(roots, r)
		}
	}
	slices.SortStableFunc(roots, func(a, c FileRule) int { return depth(a.Path) - depth(c.Path) })
	return roots
}

// ruleError is the user's mistake: the entry as written, and where.
func ruleError(kind FileKind, r PathRule, fault string) error {
	where := ""
	if r.Origin.Layer != LayerBuiltin {
		where = r.Origin.String() + ": "
	}
	return fmt.Errorf("%s%s %q: %s", where, kind, r.Text, fault)
}
