package cache

import (
	"errors"
	"time"

	"k8s.io/klog/v2"

	"triplane/generic/storage"
)

// lostFor is for how long readers get the error of a fill that failed since a
// value cannot be decrypted, before another one is tried.
const lostFor = time.Second

// lost is the state of a cache whose view cannot read all values. Cache.mu guards
// it.
type lost struct {
	// changes is set when a change could not be read: those that follow are not
	// looked at, which may take long, before somebody fills the cache.
	changes bool
	// err is why the last fill failed, and until the multiplexer's time to which it is
	// not repeated.
	err   error
	until int64
}

// decode turns changes into the view's. If one cannot be read, none is returned,
// and the cache begins anew behind them.
func (c *Cache) decode(changes []storage.Change) []storage.Change {
	c.mu.RLock()
	lost := c.lost.changes
	c.mu.RUnlock()
	filled := c.filled.Load()
	var err error
	for i := 0; i < len(changes) && err == nil && !lost; i++ {
		if filled {
			changes[i].Previous = nil // the tree has it
		}
		err = c.cfg.View.Decode(&changes[i])
	}
	if err != nil {
		klog.ErrorS(err, "A change of storage cannot be read; watches of the resource end", "prefix", c.cfg.Prefix)
	}
	if err != nil || lost {
		c.lose(changes[len(changes)-1].Revision)
		return nil
	}
	return changes
}

// lose begins anew behind a revision, for want of a change up to it.
func (c *Cache) lose(revision int64) {
	c.reset(revision)
	c.mu.Lock()
	c.lost.changes = true
	c.mu.Unlock()
}

// failed notes how a fill ended. c.mu is held.
func (l *lost) failed(err error, now int64) {
	if errors.As(err, new(*storage.TransformError)) {
		l.err, l.until = err, now+int64(lostFor)
	} else {
		l.err = nil
	}
}
