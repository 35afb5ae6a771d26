package encryption

import (
	"sync"
	"time"
)

// How long a health check's answer is good for.
const (
	healthyFor = 20 * time.Second
	brokenFor  = 3 * time.Second
)

// health is the last answer of a plugin's health check, which all share who ask before it gets
// old.
type health struct {
	mu    sync.Mutex
	err   error
	until time.Time
}

func (h *health) check(now func() time.Time, ask func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now().Before(h.until) {
		return h.err
	}
	good := healthyFor
	if h.err = ask(); h.err != nil {
		good = brokenFor
	}
	h.until = now().Add(good)
	return h.err
}
