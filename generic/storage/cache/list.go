package cache

import (
	"context"
	"errors"

	"triplane.dev/generic/storage"
)

// List implements storage.Cache.
func (c *Cache) List(ctx context.Context, opts storage.ListOptions) (storage.List, error) {
	c.counts.lists.Add(1)
	if opts.Prefix == "" {
		opts.Prefix = c.cfg.Prefix
	}
	if opts.Match == storage.Exact {
		return c.exact(ctx, opts)
	}
	err := c.freshen(ctx, opts.Freshness)
	if err == nil {
		var s *snapshot
		var revision int64
		if s, revision, err = c.take(); err == nil {
			list, err := c.page(ctx, s, revision, opts)
			if err != nil {
				return storage.List{}, err
			}
			c.counts.listed.Add(int64(len(list.Records)))
			if list.Last != "" {
				c.keep(s)
			}
			return list, nil
		}
	}
	if errors.Is(err, errBehind) || errors.As(err, new(*storage.TransformError)) {
		return c.fromBackend(ctx, opts, 0)
	}
	return storage.List{}, err
}

// page returns the records of a list from a snapshot. It returns ctx's error if ctx ends while records are
// compared with a selector.
func (c *Cache) page(ctx context.Context, s *snapshot, revision int64, opts storage.ListOptions) (storage.List, error) {
	if opts.Key != "" {
		return c.single(s, revision, opts), nil
	}
	p := pager{ctx: ctx, list: storage.List{Revision: revision}, opts: &opts, filter: c.listFilter(&opts)}
	start, behind := opts.Prefix, prefixEnd(opts.Prefix)
	if opts.After > start {
		start = opts.After + "\x00"
	}
	if start >= behind {
		return p.list, nil // a client can send any continue token
	}
	end := 0 // rank of the first key after the list
	if opts.Limit > 0 || p.filter == nil {
		first := s.rank(start)
		end = s.rank(behind)
		if p.filter == nil && end > first {
			n := end - first
			if opts.Limit > 0 {
				n = int(min(int64(n), opts.Limit))
			}
			p.list.Records = make([]*storage.Record, 0, n)
		}
	}
	p.end = s.from(behind)
	s.tree.Ascend(start, p.add)
	if p.err != nil {
		return storage.List{}, p.err
	}
	if p.list.Last == "" {
		return p.list, nil
	}
	left := end - s.rank(p.list.Last) - 1
	switch {
	case left <= 0:
		p.list.Last = ""
	case p.filter != nil:
		p.list.Remaining = -1
	default:
		p.list.Remaining = int64(left)
	}
	return p.list, nil
}

// checkEvery is how many records are compared with a selector between checks of the list's context. A selector
// may have a hundred thousand requirements.
const checkEvery = 64

// pager collects records in key order up to the limit.
type pager struct {
	ctx    context.Context //nolint:containedctx // of the list
	err    error
	seen   int // records compared with the filter
	list   storage.List
	opts   *storage.ListOptions
	filter *filter
	end    *storage.Record // first record after the list, or nil; comparing each key instead would double the cost
}

func (p *pager) add(key string, r *storage.Record) bool {
	if r == p.end {
		return false
	}
	if p.filter != nil {
		if p.seen%checkEvery == 0 {
			if p.err = p.ctx.Err(); p.err != nil {
				return false
			}
		}
		p.seen++
		if !p.filter.selects(r) {
			return true
		}
	}
	p.list.Records = append(p.list.Records, r)
	if p.opts.Limit > 0 && int64(len(p.list.Records)) == p.opts.Limit {
		p.list.Last = key
		return false
	}
	return true
}

// single returns a list with Key set.
func (c *Cache) single(s *snapshot, revision int64, opts storage.ListOptions) storage.List {
	list := storage.List{Revision: revision}
	if opts.Key <= opts.After {
		return list
	}
	if r, ok := s.tree.Get(opts.Key); ok && c.listFilter(&opts).selects(r) {
		list.Records = []*storage.Record{r}
	}
	return list
}

// prefixEnd returns the smallest string that is greater than all strings with the prefix.
func prefixEnd(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return "\xff\xff\xff\xff"
}
