package proxy

import "time"

const (
	defaultIdleTimeout  = 6 * time.Hour
	defaultDrainTimeout = 5 * time.Minute
	reapEvery           = 15 * time.Second
)

// reapIdle ends connections on which nothing has moved for too long. Without it
// a client that left and a server that stays silent would hold two descriptors
// for ever. How long nothing moved is the kernel's knowledge, since spliced
// bytes never come by here.
func (s *Server) reapIdle() {
	defer s.running.Done()
	idle, drain := orDefault(s.IdleTimeout, defaultIdleTimeout), orDefault(s.DrainTimeout, defaultDrainTimeout)
	tick := time.NewTicker(max(min(reapEvery, idle/2, drain/2), 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			for _, e := range s.idleSince(idle, drain) {
				_ = e.Close()
			}
		}
	}
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}

func (s *Server) idleSince(idle, drain time.Duration) []*endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*endpoint
	for e := range s.endpoints {
		limit := idle
		if e.halfClosed.Load() {
			limit = drain
		}
		if e.quiet() > limit {
			found = append(found, e)
		}
	}
	return found
}

// quiet is how long nothing has moved on e.
func (e *endpoint) quiet() time.Duration {
	seen := time.Since(time.Unix(0, e.touched.Load()))
	if e.tcp == nil {
		return seen
	}
	if kernel, ok := tcpQuiet(e.tcp); ok {
		return min(seen, kernel)
	}
	return seen
}
