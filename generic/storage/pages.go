package storage

import (
	"context"
	"iter"
)

const (
	// pageKeys is the number of keys in the first page of Pages. It is small because the size of the values is unknown.
	pageKeys = 500
	// pageBytes limits the values of later pages.
	pageBytes = 32 << 20
	// pagesLeft is in how many pages Pages reads what is left, if they are not too large, and pageGrowth how many times
	// the keys of the first page a page may have in any case.
	pagesLeft  = 8
	pageGrowth = 20
)

// Pages reads the keys of opts in pages, all at the revision of the first page. The first error ends them. opts.Limit
// is the number of keys in the first page; 0 is the default. Pages grow with what is left, because backends count all
// remaining keys for each: pages of one size take time that grows with the square of the number of keys.
func Pages(ctx context.Context, b Backend, opts RangeOptions) iter.Seq2[RangeResult, error] {
	if opts.Limit == 0 {
		opts.Limit = pageKeys
	}
	first := opts.Limit
	return func(yield func(RangeResult, error) bool) {
		for {
			page, err := b.Range(ctx, opts)
			if !yield(page, err) || err != nil || !page.More || len(page.Items) == 0 {
				return
			}
			opts.After, opts.Revision = page.Items[len(page.Items)-1].Key, page.Revision
			opts.Limit = nextPage(page, first)
		}
	}
}

// nextPage is the number of keys of the page behind one, of first keys in the first page.
func nextPage(page RangeResult, first int64) int64 {
	n, bytes := int64(len(page.Items)), int64(0)
	for i := range page.Items {
		bytes += int64(len(page.Items[i].Key) + len(page.Items[i].Value))
	}
	return max(1, min(max((page.Count-n)/pagesLeft, pageGrowth*first), pageBytes*n/max(1, bytes)))
}
