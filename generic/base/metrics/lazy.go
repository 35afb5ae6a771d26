package metrics

import "sync/atomic"

// Lazy creates an observer on first use. If two goroutines create it concurrently, the vector returns the same
// one to both.
type Lazy[T any] struct{ p atomic.Pointer[T] }

// Get returns the observer.
func (l *Lazy[T]) Get(create func() T) T {
	if p := l.p.Load(); p != nil {
		return *p
	}
	v := create()
	l.p.Store(&v)
	return v
}

// Current creates an observer on first use, and again after series were deleted, because its own may have been.
type Current[T any] struct{ p atomic.Pointer[since[T]] }

type since[T any] struct {
	value     T
	deletions uint64
}

// Get returns the observer. deletions is the number of deletions so far, which the caller must read before.
func (c *Current[T]) Get(deletions uint64, find func() T) T {
	if p := c.p.Load(); p != nil && p.deletions == deletions {
		return p.value
	}
	s := &since[T]{find(), deletions}
	c.p.Store(s)
	return s.value
}
