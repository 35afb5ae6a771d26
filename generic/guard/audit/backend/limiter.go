package backend

import (
	"sync"
	"time"
)

// limiter passes one call per pause. It is safe for concurrent use.
type limiter struct {
	pause time.Duration

	mu   sync.Mutex
	last time.Time
}

func (l *limiter) pass(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.last) < l.pause {
		return false
	}
	l.last = now
	return true
}
