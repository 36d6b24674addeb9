package linux

import (
	"strings"
	"sync"
	"time"
)

// dirCache remembers for a moment where directories really are: unpacking names
// the same ones over and over, and each look costs three system calls. What
// could change an answer empties it (see Guard.answer); what the host changes,
// or a call under way, counts after dirCacheTime. An answer that old is a race
// that the guard does not decide anyway.
type dirCache struct {
	mu    sync.Mutex
	until time.Time
	dirs  map[string]string
	// linked: a remembered path leads through a link, so that removing a name
	// can change what it means.
	linked bool
}

const (
	dirCacheTime = 20 * time.Millisecond
	dirCacheSize = 512
)

func (d *dirCache) get(path string) (string, bool) {
	if d == nil {
		return "", false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Now().After(d.until) {
		d.forget()
		return "", false
	}
	at, ok := d.dirs[path]
	return at, ok
}

func (d *dirCache) put(path, at string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.dirs) == 0 {
		d.until = time.Now().Add(dirCacheTime)
	}
	if d.dirs == nil || len(d.dirs) >= dirCacheSize {
		d.dirs = map[string]string{}
	}
	d.dirs[path] = at
	d.linked = d.linked || strings.TrimSuffix(path, "/") != at
}

func (d *dirCache) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget()
}

// removed is flush for a name that was taken away.
func (d *dirCache) removed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.linked {
		d.forget()
	}
}

func (d *dirCache) forget() {
	clear(d.dirs)
	d.linked = false
}
