package embedded

import "sync"

// gate prevents reads of a closed store. Reads access its memory and its file directly, and a read of a closed
// file is a fatal error in etcd.
type gate struct {
	mu     sync.RWMutex
	closed bool
}

// enter reports whether the gate is open. If so, leave must be called after the read.
func (g *gate) enter() bool {
	g.mu.RLock()
	if g.closed {
		g.mu.RUnlock()
		return false
	}
	return true
}

func (g *gate) leave() { g.mu.RUnlock() }

// close rejects further reads and waits for those in progress.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}
