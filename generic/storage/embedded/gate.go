package embedded

import "sync"

// gate keeps reads out of a store that is closed: they go to its memory and its
// file directly, and etcd takes a read of a closed file for a fatal error.
type gate struct {
	mu     sync.RWMutex
	closed bool
}

// enter lets a read in, unless the gate is closed; it has to leave.
func (g *gate) enter() bool {
	g.mu.RLock()
	if g.closed {
		g.mu.RUnlock()
		return false
	}
	return true
}

func (g *gate) leave() { g.mu.RUnlock() }

// close lets nobody in any more, and returns when all have left.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}
