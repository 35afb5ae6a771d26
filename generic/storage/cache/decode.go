package cache

import (
	"errors"
	"time"

	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
)

// unreadableTTL is how long a fill that failed because of an undecryptable value is not retried. Readers get
// its error.
const unreadableTTL = time.Second

// lost is the state of a cache whose view cannot decrypt all values. Cache.mu guards it.
type lost struct {
	// changes is set after a change could not be decrypted. Following changes are not decrypted, which may be
	// slow, until the next fill.
	changes bool
	// err is the error of the last fill, which is returned until the multiplexer's clock reaches until.
	err   error
	until int64
}

// decode transforms changes by the view. If one of them cannot be decrypted, it returns none and resets the
// cache to the revision after them.
func (c *Cache) decode(changes []storage.Change) []storage.Change {
	c.mu.RLock()
	lost := c.lost.changes
	c.mu.RUnlock()
	filled := c.filled.Load()
	var err error
	for i := 0; i < len(changes) && err == nil && !lost; i++ {
		if filled {
			changes[i].Previous = nil // the tree has it; decrypting it is unnecessary
		}
		err = c.cfg.View.Decode(&changes[i])
	}
	if err != nil {
		klog.ErrorS(err, "Failed to decrypt a change in storage, ending the watches of the resource", "prefix", c.cfg.Prefix)
	}
	if err != nil || lost {
		c.markLost(changes[len(changes)-1].Revision)
		return nil
	}
	return changes
}

// markLost resets the cache to a revision because a change up to it could not be decrypted.
func (c *Cache) markLost(revision int64) {
	c.reset(revision)
	c.mu.Lock()
	c.lost.changes = true
	c.mu.Unlock()
}

// failed records the result of a fill. The caller holds c.mu.
func (l *lost) failed(err error, now int64) {
	if errors.As(err, new(*storage.TransformError)) {
		l.err, l.until = err, now+int64(unreadableTTL)
	} else {
		l.err = nil
	}
}
