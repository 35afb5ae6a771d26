package embedded

import "sync"

// gate keeps reads out of a store that is closed: they go to its memory and its
// file directly, and etcd takes a read of a closed file for a fatal error.
type gate struct {
	mu     sync.RWMutex
	closed bool
}

// enter reports whether a read may begin: not if the gate is closed. leave has to follow.
func (g *gate) enter() bool {
	g.mu.RLock()
	if g.closed {
		g.mu.RUnlock()
		return false
	}
	return true
}

func (g *gate) leave() { g.mu.RUnlock() }

// close refuses further reads, and returns when those under way have ended.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}
