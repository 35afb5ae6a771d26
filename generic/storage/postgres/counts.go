package postgres

import "sync"

// pageStart is where a page of keys at a revision starts.
type pageStart struct {
	prefix, after string
	revision      int64
}

// maxCounts limits the lists whose pages are read at a time without a count for each page.
const maxCounts = 64

// counts has the numbers of keys for pages that may be read next. Counting visits all keys, and without it a list in
// pages would be quadratic. The zero value is ready to use.
type counts struct {
	mu    sync.Mutex
	known map[pageStart]int64
	order []pageStart // oldest first
}

// get returns the count for a page.
func (c *counts) get(p pageStart) (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.known[p]
	return n, ok
}

// put adds the count for a page.
func (c *counts) put(p pageStart, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[pageStart]int64{}
	}
	if _, ok := c.known[p]; !ok {
		c.order = append(c.order, p)
	}
	c.known[p] = n
	for len(c.order) > maxCounts {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
}
