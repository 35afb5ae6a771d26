package cache

import (
	"context"
	"errors"
	"strings"
	"time"

	"triplane.dev/generic/storage"
)

// Watch implements storage.Cache.
func (c *Cache) Watch(ctx context.Context, opts storage.WatchOptions) (storage.Watch, error) {
	if opts.Prefix == "" {
		opts.Prefix = c.cfg.Prefix
	}
	w := &watch{
		cache:  c,
		opts:   opts,
		filter: c.filter(opts.Labels, opts.Fields, opts.Shard, opts.FieldReader),
		scope:  c.scope(&opts),
		after:  opts.Revision,
	}
	var err error
	if opts.Initial || opts.Revision == 0 {
		err = c.startFromState(ctx, w)
	} else {
		err = c.startFromHistory(ctx, w)
	}
	if err != nil {
		return nil, err
	}
	if opts.Bookmarks {
		if at, ok := nextBookmark(time.Now(), opts.Deadline); ok {
			c.mux.clock.add(at, w)
		}
	}
	return w, nil
}

// scope returns the narrowest scope of a watch.
func (c *Cache) scope(opts *storage.WatchOptions) scope {
	if opts.Key != "" {
		return scope{scopeKey, opts.Key}
	}
	if c.cfg.IndexField != "" && opts.Fields != nil {
		if value, ok := opts.Fields.RequiresExactMatch(c.cfg.IndexField); ok {
			return scope{scopeValue, value}
		}
	}
	if opts.Prefix != c.cfg.Prefix {
		return scope{scopeNamespace, opts.Prefix}
	}
	return scope{kind: scopeAll}
}

// startFromHistory starts a watch after a revision, with the events of the history.
func (c *Cache) startFromHistory(ctx context.Context, w *watch) error {
	if err := c.mux.waitStarted(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return storage.ErrStopped
	}
	first, err := c.history.after(w.after)
	if err != nil {
		return err
	}
	for i := first; i < c.history.count; i++ {
		if e := c.history.at(i); w.concerns(e) {
			w.pending = append(w.pending, e)
		}
	}
	w.limit = len(w.pending)
	c.register(w)
	return nil
}

// startFromState starts a watch with the current records.
func (c *Cache) startFromState(ctx context.Context, w *watch) error {
	fresh := storage.Freshness{Match: storage.Any}
	if w.opts.Initial {
		fresh = w.opts.Freshness
	}
	if err := c.freshen(ctx, fresh); errors.Is(err, errBehind) {
		now := c.mux.progress.load()
		return &storage.TooLargeError{Requested: now + 1, Current: now}
	} else if err != nil {
		return err
	}
	revision := c.mux.progress.load()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.readable(); err != nil {
		return storage.ErrStopped
	}
	w.initial = c.share()
	w.position = w.first()
	w.after = max(revision, c.last)
	w.endMark = w.opts.Initial && w.opts.Bookmarks
	c.register(w)
	return nil
}

// register adds a watch to the index. The caller holds c.mu.
func (c *Cache) register(w *watch) {
	w.registered = true
	w.limit += pendingMax
	c.watchers.add(w)
}

// concerns reports whether an event is in the watch's scope. The index selects events only roughly; events of
// the history are not selected at all.
func (w *watch) concerns(e *event) bool {
	if w.opts.Key != "" {
		return e.Record.Key == w.opts.Key
	}
	return strings.HasPrefix(e.Record.Key, w.opts.Prefix)
}
