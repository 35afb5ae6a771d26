package storage

import (
	"context"
	"iter"
)

const (
	// pageKeys is the number of keys in the first page of Pages.
	pageKeys = 10_000
	// pageBytes limits the values of later pages.
	pageBytes = 32 << 20
	// pagesLeft is in how many pages Pages reads what is left, if they are not too large.
	pagesLeft = 8
)

// Pages reads the keys of opts in pages, all at the revision of the first page. The first error ends them. opts.Limit
// is the least number of keys in a page; 0 is the default. Pages grow with what is left, because backends count all
// remaining keys for each: pages of one size take time that grows with the square of the number of keys.
func Pages(ctx context.Context, b Backend, opts RangeOptions) iter.Seq2[RangeResult, error] {
	if opts.Limit == 0 {
		opts.Limit = pageKeys
	}
	least := opts.Limit
	return func(yield func(RangeResult, error) bool) {
		for {
			page, err := b.Range(ctx, opts)
			if !yield(page, err) || err != nil || !page.More || len(page.Items) == 0 {
				return
			}
			opts.After, opts.Revision = page.Items[len(page.Items)-1].Key, page.Revision
			opts.Limit = max(least, nextPage(page))
		}
	}
}

// nextPage is the number of keys of the page behind one.
func nextPage(page RangeResult) int64 {
	n, bytes := int64(len(page.Items)), int64(0)
	for i := range page.Items {
		bytes += int64(len(page.Items[i].Key) + len(page.Items[i].Value))
	}
	return min((page.Count-n)/pagesLeft, pageBytes/max(1, bytes/n))
}
