package storage

import (
	"sync"
	"weak"
)

// DefaultBudget is the limit, in bytes, of a Budget that was given none.
const DefaultBudget = 64 << 20

// formOverhead is about what a form costs beside its bytes.
const formOverhead = 96

// Budget bounds the bytes that encoded forms may take across all records of a
// server. When it is exceeded, the forms that have been there longest without
// being used are dropped; they are encoded again when somebody asks.
//
// It does not keep records alive: forms whose record is gone are garbage like
// any other, and leave the account when their turn comes. A nil Budget bounds
// nothing; the zero value has the default limit.
type Budget struct {
	limit int64

	mu      sync.Mutex
	used    int64
	entries []entry // a ring, oldest first
	first   int
	count   int
	evicted int64
}

// entry is a form in the account.
type entry struct {
	form weak.Pointer[form]
	size int64
}

// NewBudget returns a Budget of so many bytes; 0 means the default.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Usage returns the bytes in the account, the limit, and how many forms have been
// dropped to stay below it.
func (b *Budget) Usage() (used, limit, evicted int64) {
	if b == nil {
		return 0, 0, 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.max(), b.evicted
}

func (b *Budget) max() int64 {
	if b.limit <= 0 {
		return DefaultBudget
	}
	return b.limit
}

// charge enters a form that has just got its bytes.
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

// evict drops forms until the account is below the limit. A form that was used
// since it was looked at last is spared once.
func (b *Budget) evict() {
	spared := 0
	for b.used > b.max() && b.count > 0 {
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
