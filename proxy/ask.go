package proxy

import (
	"context"
	"sync"

	"github.com/gosrt/gosrt/policy"
)

// asks holds the questions that wait for an answer, one per destination.
type asks struct {
	mu      sync.Mutex
	pending map[policy.HostPort]*question
}

type question struct {
	done    chan struct{}
	allowed bool
}

// ask puts the question once for all who wait for the same destination. Nobody
// to ask, no answer in time, a panic in the asker and a closing server deny.
func (s *Server) ask(ctx context.Context, h policy.HostPort) bool {
	if s.Ask == nil {
		return false
	}
	q, first := s.asks.join(h)
	if first {
		go func() {
			q.allowed = s.askOnce(h)
			s.asks.answer(h, q)
		}()
	}
	select {
	case <-q.done:
		return q.allowed && ctx.Err() == nil
	case <-ctx.Done():
		return false
	case <-s.ctx.Done():
		return false
	}
}

func (a *asks) join(h policy.HostPort) (q *question, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q = a.pending[h]; q != nil {
		return q, false
	}
	if a.pending == nil {
		a.pending = map[policy.HostPort]*question{}
	}
	q = &question{done: make(chan struct{})}
	a.pending[h] = q
	return q, true
}

func (a *asks) answer(h policy.HostPort, q *question) {
	a.mu.Lock()
	delete(a.pending, h)
	a.mu.Unlock()
	close(q.done)
}

// askOnce calls the asker and waits no longer than the limit, also for an asker
// that does not look at its context.
func (s *Server) askOnce(h policy.HostPort) bool {
	limit := s.AskTimeout
	if limit == 0 {
		limit = defaultAskTimeout
	}
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	answer := make(chan bool, 1)
	go func() {
		defer func() {
			if recover() != nil {
				answer <- false
			}
		}()
		answer <- s.Ask(ctx, h)
	}()
	select {
	case allowed := <-answer:
		return allowed && ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
