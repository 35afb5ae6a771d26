package storage

import (
	"math"
	"sync"
	"weak"
)

// DefaultBudget is the default limit of a Budget in bytes.
const DefaultBudget = 64 << 20

// formOverhead estimates the memory of a form without its bytes.
const formOverhead = 96

// Budget limits the bytes of encoded forms across all records of a server. Beyond the limit it drops the least
// recently used forms; they are encoded again on demand.
//
// Its pointers to forms are weak. Forms of collected records are removed from the accounting during eviction. A
// nil Budget has no limit; the zero Budget has the default limit.
type Budget struct {
	limit int64

	mu      sync.Mutex
	used    int64
	entries []entry // a ring, oldest first
	first   int
	count   int
	evicted int64
}

// entry accounts for one form.
type entry struct {
	form weak.Pointer[form]
	size int64
}

// NewBudget returns a Budget with a limit in bytes; 0 means the default.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Usage returns the accounted bytes, the limit, and the number of evicted forms.
func (b *Budget) Usage() (used, limit, evicted int64) {
	if b == nil {
		return 0, 0, 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.Limit(), b.evicted
}

// Limit returns the limit in bytes.
func (b *Budget) Limit() int64 {
	switch {
	case b == nil:
		return math.MaxInt64
	case b.limit <= 0:
		return DefaultBudget
	}
	return b.limit
}

// charge accounts for the bytes of a new form.
func (b *Budget) charge(f *form, n int) {
	if b == nil {
		return
	}
	e := entry{form: weak.Make(f), size: int64(n) + formOverhead}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.push(e)
	b.used += e.size
	b.evict()
}

// evict drops forms until the usage is below the limit. A form that was used since the last pass is kept once.
func (b *Budget) evict() {
	spared := 0
	for b.used > b.Limit() && b.count > 0 {
		e := b.pop()
		f := e.form.Value()
		if f != nil && f.bytes.Load() != nil && spared < b.count && f.used.Swap(false) {
			spared++
			b.push(e)
			continue
		}
		b.used -= e.size
		if f != nil {
			f.bytes.Store(nil)
			b.evicted++
		}
	}
}

func (b *Budget) push(e entry) {
	if b.count == len(b.entries) {
		b.resize(max(64, 2*b.count))
	}
	b.entries[(b.first+b.count)%len(b.entries)] = e
	b.count++
}

func (b *Budget) pop() entry {
	e := b.entries[b.first]
	b.entries[b.first] = entry{}
	b.first = (b.first + 1) % len(b.entries)
	b.count--
	return e
}

func (b *Budget) resize(size int) {
	entries := make([]entry, size)
	for i := range b.count {
		entries[i] = b.entries[(b.first+i)%len(b.entries)]
	}
	b.entries, b.first = entries, 0
}
