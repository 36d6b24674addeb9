package policy

import (
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// walkers is how many directories are listed at once. Listing waits for the
// disk, so more than there are processors helps.
const walkers = 8

// expand finds what the denied patterns match now, so that it can be covered by
// mounts; names that appear later are refused by the guard. Patterns of protected
// paths are not expanded: that would cost a walk over every write root.
func (b *builder) expand() {
	for i := range b.files {
		r := b.files[i]
		if !r.Pattern || r.Kind == Protect || r.Kind == AllowWrite {
			continue
		}
		for _, spelled := range b.walk(newGlob(r.Path), r.Kind) {
			b.addFound(i, r, spelled)
		}
	}
}

func (b *builder) addFound(rule int, r FileRule, spelled string) {
	at := b.resolve(spelled)
	if !at.Exists || at.Loop {
		return
	}
	if _, covered := newGlob(r.Path).match(at.Path); !covered {
		if r.Kind == AllowRead {
			return // reached through a link: an allow opens no other place
		}
		r.Pattern = false
		b.add(r, spelled, at)
		return
	}
	b.infos[at.Path] = at.Info
	b.found = append(b.found, Found{at.Path, rule})
}

// walk lists the paths below the pattern's base that it matches, and the
// directories that could not be listed although a match may lie in them. Below a
// match it goes on only where something is opened again, there or below.
func (b *builder) walk(g glob, kind FileKind) []string {
	w := &walker{fs: b.fs, glob: g, denies: kind != AllowRead, reopened: b.reopenedBelow, seen: map[visit]bool{}}
	w.slots = make(chan struct{}, walkers)
	if info, err := b.lstat(g.base); err == nil && info.Mode.IsDir() {
		w.enter(g.base, g.start(), visit{info.Dev, info.Ino, g.start()})
	}
	w.pending.Wait()
	slices.Sort(w.matches)
	return w.matches
}

func (b *builder) reopenedBelow(dir string) bool {
	return slices.ContainsFunc(b.files, func(r FileRule) bool {
		return (r.Kind == AllowRead || r.Kind == AllowWrite) && !r.Fresh && (within(dir, r.Path) || r.Pattern)
	})
}

// visit is a directory in a state of the pattern. Each is listed once, so links
// in circles end.
type visit struct {
	dev, ino uint64
	states   states
}

type walker struct {
	fs       FS
	glob     glob
	denies   bool
	reopened func(dir string) bool

	slots   chan struct{}
	pending sync.WaitGroup
	mu      sync.Mutex
	seen    map[visit]bool
	matches []string
}

func (w *walker) enter(dir string, s states, v visit) {
	w.mu.Lock()
	known := w.seen[v]
	w.seen[v] = true
	w.mu.Unlock()
	if known || s == 0 {
		return
	}
	select {
	case w.slots <- struct{}{}:
		w.pending.Go(func() {
			w.list(dir, s)
			<-w.slots
		})
	default:
		w.list(dir, s)
	}
}

func (w *walker) match(p string) {
	w.mu.Lock()
	w.matches = append(w.matches, p)
	w.mu.Unlock()
}

func (w *walker) list(dir string, s states) {
	if dir == "/proc" || dir == "/dev" { // the run has its own
		return
	}
	entries, err := w.fs.ReadDir(dir)
	if err != nil {
		if w.denies && !absent(err) {
			w.match(dir)
		}
		return
	}
	for _, e := range entries {
		w.entry(join(dir, e.Name), e, s)
	}
}

func (w *walker) entry(p string, e DirEntry, s states) {
	next := w.glob.step(s, p[strings.LastIndexByte(p, '/')+1:])
	if next == 0 {
		return
	}
	if w.glob.done(next) {
		w.match(p)
		if !w.reopened(p) {
			return
		}
	}
	switch {
	case e.Type.IsDir():
		if info, err := w.fs.Lstat(p); err == nil {
			w.enter(p, next, visit{info.Dev, info.Ino, next})
		}
	case e.Type&fs.ModeSymlink != 0 && w.denies:
		at := newResolver(w.fs).resolve(p)
		if at.dir() && !within(at.Path, p) { // a link upwards leads to what is walked already
			w.enter(at.Path, next, visit{at.Info.Dev, at.Info.Ino, next})
		}
	}
}
