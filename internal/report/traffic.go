package report

import (
	"cmp"
	"slices"
	"sync"
)

// maxHosts bounds the destinations that are counted one by one; what comes
// after is counted together.
const maxHosts = 1000

// otherHosts stands for destinations beyond maxHosts.
const otherHosts = "other hosts"

// Traffic adds up connections by host. The zero value is ready.
type Traffic struct {
	mu    sync.Mutex
	hosts map[string]*Host
}

// Add counts one ended connection. It may be called from several goroutines.
func (t *Traffic) Add(host string, sent, received int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hosts == nil {
		t.hosts = map[string]*Host{}
	}
	h := t.hosts[host]
	if h == nil && len(t.hosts) >= maxHosts {
		host = otherHosts
		h = t.hosts[host]
	}
	if h == nil {
		h = &Host{Host: host}
		t.hosts[host] = h
	}
	h.Connections++
	h.Sent += sent
	h.Received += received
}

// List returns the hosts, the one with most bytes first.
func (t *Traffic) List() []Host {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []Host{}
	for _, h := range t.hosts {
		list = append(list, *h)
	}
	slices.SortFunc(list, func(a, b Host) int {
		return cmp.Or(cmp.Compare(b.Sent+b.Received, a.Sent+a.Received), cmp.Compare(a.Host, b.Host))
	})
	return list
}
