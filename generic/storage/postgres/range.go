package postgres

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"triplane.dev/generic/storage"
)

// current selects the latest row of each key in [$1, $2) up to the revision $3, unless it is a deletion.
const current = `(SELECT DISTINCT ON (key) key, revision, value, created FROM triplane.kv
	WHERE key >= $1 AND key < $2 AND revision <= $3 ORDER BY key, revision DESC) l WHERE created > 0`

// All rows of a statement are of one snapshot. The state of the store is in each row, or in one without a key.
const (
	stateSQL = `SELECT triplane.latest(), (SELECT compacted FROM triplane.store)`
	rangeSQL = `SELECT state.*, k.key, k.revision, k.value FROM (` + stateSQL + ` OFFSET 0) state
		LEFT JOIN (SELECT key, revision, value FROM ` + current + ` ORDER BY key LIMIT $4) k ON true`
	countSQL = `SELECT state.*, (SELECT count(*) FROM (SELECT DISTINCT ON (key) created FROM triplane.kv
		WHERE key >= $1 AND key < $2 AND revision <= $3 ORDER BY key, revision DESC) l WHERE created > 0)
		FROM (` + stateSQL + ` OFFSET 0) state`
)

// Range implements storage.Backend.
func (b *Backend) Range(ctx context.Context, opts storage.RangeOptions) (storage.RangeResult, error) {
	start, end := bounds(opts.Prefix, opts.After)
	if opts.CountOnly {
		return b.count(ctx, start, end, opts.Revision)
	}
	at, limit := opts.Revision, any(nil)
	if at == 0 {
		at = math.MaxInt64
	}
	if opts.Limit > 0 {
		limit = opts.Limit + 1
	}
	var result storage.RangeResult
	var now, compacted int64
	err := b.read(ctx, func(rows pgx.Rows) error {
		var key, value []byte
		var revision *int64
		if err := rows.Scan(&now, &compacted, &key, &revision, &value); err != nil || revision == nil {
			return err
		}
		result.Items = append(result.Items, storage.KeyValue{Key: string(key), Value: value, Revision: *revision})
		return nil
	}, rangeSQL, start, end, at, limit)
	if err != nil {
		return storage.RangeResult{}, err
	}
	if result.Revision, err = readable(opts.Revision, now, compacted); err != nil {
		return storage.RangeResult{}, err
	}
	slices.SortFunc(result.Items, func(a, b storage.KeyValue) int {
		return strings.Compare(a.Key, b.Key) // the join need not keep the order, but does
	})
	result.Count = int64(len(result.Items))
	if opts.Limit > 0 && result.Count > opts.Limit {
		result.Items, result.More = result.Items[:opts.Limit], true
		result.Count, err = b.countPage(ctx, opts, result)
	}
	return result, err
}

// readable returns the revision that a read of the revision at (0 for the current one) has, or why it cannot be read.
func readable(at, now, compacted int64) (int64, error) {
	switch {
	case at == 0:
		return now, nil
	case at > now:
		return 0, storage.ErrFutureRevision
	case at < compacted:
		return 0, storage.ErrCompacted
	}
	return at, nil
}

// count returns the number of keys in [start, end) at a revision, 0 for the current one.
func (b *Backend) count(ctx context.Context, start, end []byte, at int64) (result storage.RangeResult, err error) {
	bound := at
	if at == 0 {
		bound = math.MaxInt64
	}
	var now, compacted int64
	err = b.read(ctx, func(rows pgx.Rows) error { return rows.Scan(&now, &compacted, &result.Count) },
		countSQL, start, end, bound)
	if err != nil {
		return storage.RangeResult{}, err
	}
	result.Revision, err = readable(at, now, compacted)
	return result, err
}

// countPage returns the number of keys from the start of a page on. Pages that continue another one need no request.
func (b *Backend) countPage(ctx context.Context, opts storage.RangeOptions, page storage.RangeResult) (int64, error) {
	n, known := b.counts.get(pageStart{opts.Prefix, opts.After, page.Revision})
	if !known {
		start, end := bounds(opts.Prefix, opts.After)
		counted, err := b.count(ctx, start, end, page.Revision)
		if err != nil {
			return 0, err
		}
		n = counted.Count
	}
	last := page.Items[len(page.Items)-1].Key
	b.counts.put(pageStart{opts.Prefix, last, page.Revision}, n-int64(len(page.Items)))
	return n, nil
}

// bounds returns the keys with a prefix after another key: start is inclusive, end exclusive.
func bounds(prefix, after string) (start, end []byte) {
	start = []byte(prefix)
	if after != "" && after >= prefix {
		start = append([]byte(after), 0)
	}
	end = []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) == 0 {
		return start, bytes.Repeat([]byte{0xff}, 64) // after all keys, which are paths
	}
	end[len(end)-1]++
	return start, end
}
