package cache

import (
	"context"
	"errors"

	"triplane.dev/generic/storage"
)

// exact lists the state at a revision: from the current tree if nothing has changed since, from a kept
// snapshot, or from the backend.
func (c *Cache) exact(ctx context.Context, opts storage.ListOptions) (storage.List, error) {
	err := c.fill(ctx)
	if errors.As(err, new(*storage.TransformError)) {
		return c.fromBackend(ctx, opts, opts.Revision)
	}
	if err != nil {
		return storage.List{}, err
	}
	if err := c.happened(ctx, opts.Revision); err != nil {
		return storage.List{}, err
	}
	if s := c.find(opts.Revision); s != nil {
		list, err := c.page(ctx, s, opts.Revision, opts)
		if err != nil {
			return storage.List{}, err
		}
		if list.Last != "" {
			c.keep(s)
		}
		return list, nil
	}
	return c.fromBackend(ctx, opts, opts.Revision)
}

// happened waits until the caches have reached a revision. It returns an error if the backend has not.
func (c *Cache) happened(ctx context.Context, revision int64) error {
	if c.mux.progress.load() >= revision {
		return nil
	}
	now, err := c.mux.backend.Revision(ctx)
	if err != nil {
		return err
	}
	if revision > now {
		return &storage.TooLargeError{Requested: revision, Current: now}
	}
	err = c.await(ctx, revision, errBehind)
	if errors.Is(err, errBehind) {
		return nil // the backend serves the read
	}
	return err
}

// fromBackend lists from the backend at a revision; 0 is the current one.
func (c *Cache) fromBackend(ctx context.Context, opts storage.ListOptions, revision int64) (storage.List, error) {
	if opts.Key != "" {
		return c.singleFromBackend(ctx, opts, revision)
	}
	f := c.listFilter(&opts)
	r := storage.RangeOptions{Prefix: opts.Prefix, After: opts.After, Revision: revision}
	if opts.Limit > 0 && f == nil {
		r.Limit = opts.Limit
	}
	var list storage.List
	for page, err := range storage.Pages(ctx, c.backend, r) {
		if err != nil {
			return storage.List{}, c.rangeError(err, revision)
		}
		list.Revision = page.Revision
		for i := range page.Items {
			record := newRecord(&page.Items[i])
			if !f.selects(record) {
				continue
			}
			list.Records = append(list.Records, record)
			if opts.Limit > 0 && int64(len(list.Records)) == opts.Limit {
				return endPage(list, record.Key, page.Count-int64(i)-1, f), nil
			}
		}
	}
	return list, nil
}

// endPage sets Last and Remaining of a page if there are more records.
func endPage(list storage.List, last string, left int64, f *filter) storage.List {
	if left <= 0 {
		return list
	}
	list.Last, list.Remaining = last, left
	if f != nil {
		list.Remaining = -1
	}
	return list
}

func (c *Cache) singleFromBackend(ctx context.Context, opts storage.ListOptions, revision int64) (storage.List, error) {
	page, err := c.backend.Range(ctx, storage.RangeOptions{Prefix: opts.Key, Limit: 1, Revision: revision})
	if err != nil {
		return storage.List{}, c.rangeError(err, revision)
	}
	list := storage.List{Revision: page.Revision}
	if len(page.Items) == 1 && page.Items[0].Key == opts.Key && opts.Key > opts.After {
		if r := newRecord(&page.Items[0]); c.listFilter(&opts).selects(r) {
			list.Records = []*storage.Record{r}
		}
	}
	return list, nil
}

// rangeError converts the error of a range at a revision to that of a Cache.
func (c *Cache) rangeError(err error, revision int64) error {
	if errors.Is(err, storage.ErrFutureRevision) {
		return &storage.TooLargeError{Requested: revision, Current: c.mux.progress.load()}
	}
	return err
}
