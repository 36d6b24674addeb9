package policy

import "fmt"

// check refuses a table that would not mean what was written.
func (b *builder) check() error {
	for _, r := range b.writeRoots() {
		if err := b.checkRoot(r); err != nil {
			return err
		}
	}
	return b.checkDir()
}

// checkRoot refuses a write root that is hidden: writing what cannot be read back
// is never what was meant, and mounting it would reveal it. A preset's cache
// directory in a hidden home is no mistake, and stays hidden.
func (b *builder) checkRoot(r FileRule) error {
	if b.index.readable(r.Path) || builtin(r.Rule) {
		return nil
	}
	d := b.index.hiding(r.Path)
	return ruleError(AllowWrite, r.Rule, fmt.Sprintf("hidden by %s (%s): add it to allowRead too, or take it out", d.Rule, d.Origin))
}

// checkDir keeps the working directory what it was.
func (b *builder) checkDir() error {
	if b.index.readable(b.dir.Path) {
		return nil
	}
	d := b.index.hiding(b.dir.Path)
	return fmt.Errorf("working directory %q: hidden by %s (%s): add it with --allow-read %s, or start from another directory",
		b.dir.Path, d.Rule, d.Origin, quoteArg(b.dir.Path))
}
