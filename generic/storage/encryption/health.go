package encryption

import (
	"sync"
	"time"
)

// How long the result of a health check is cached.
const (
	healthyTTL   = 20 * time.Second
	unhealthyTTL = 3 * time.Second
)

// health caches the result of a plugin's health check.
type health struct {
	mu    sync.Mutex
	err   error
	until time.Time
}

func (h *health) check(now func() time.Time, probe func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now().Before(h.until) {
		return h.err
	}
	good := healthyTTL
	if h.err = probe(); h.err != nil {
		good = unhealthyTTL
	}
	h.until = now().Add(good)
	return h.err
}
