package policy

import "fmt"

// check refuses a table that would not mean what was written.
func (b *builder) check() error {
	if err := b.checkRoots(b.index); err != nil {
		return err
	}
	return b.checkDir(b.index)
}

// checkRoots refuses a write root that is hidden: writing what cannot be read
// back is never what was meant, and mounting it would reveal it.
func (b *builder) checkRoots(x *FileIndex) error {
	for _, r := range b.writeRoots() {
		d := x.DecideRead(r.Path)
		_, listed := x.reopened[r.Path]
		if d.Verdict == Allow && !listed || d.Verdict == Allow && !hiddenAt(x.covering(r.Path)) {
			continue
		}
		if builtin(r.Rule) {
			continue // the decision denies it; a preset's cache in a hidden home is no mistake
		}
		return ruleError(AllowWrite, r.Rule, fmt.Sprintf("hidden by %s (%s): add it to allowRead too, or take it out", d.Rule, d.Origin))
	}
	return nil
}

// checkDir keeps the working directory what it was.
func (b *builder) checkDir(x *FileIndex) error {
	d := x.DecideRead(b.dir.Path)
	if d.Verdict != Allow || hiddenAt(x.covering(b.dir.Path)) {
		if _, own := private(x.covering(b.dir.Path)); own {
			return nil
		}
		return fmt.Errorf("working directory %q: hidden by %s (%s): add it with --allow-read %s, or start from another directory",
			b.dir.Path, d.Rule, d.Origin, quoteArg(b.dir.Path))
	}
	return nil
}
