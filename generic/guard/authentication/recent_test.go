package authentication

import (
	"sync"
	"testing"
)

func TestRecent(t *testing.T) {
	r := recent[int, string]{limit: 4}
	expect := func(key int, want string) {
		t.Helper()
		if got, ok := r.get(key); got != want || ok != (want != "") {
			t.Errorf("%d is %q, not %q", key, got, want)
		}
	}
	expect(1, "")
	r.put(1, "one")
	r.put(1, "first") // while it is not published
	expect(1, "first")
	if r.added != nil {
		t.Error("the only entry was found, but is not published")
	}
	r.put(1, "again")
	expect(1, "again")
	for key := 2; key <= 4; key++ {
		r.put(key, "more")
	}
	expect(2, "more")
	r.put(5, "five") // the generation of the first four is the old one now
	expect(1, "again")
	expect(4, "more")
	r.put(4, "four") // stays in the old generation
	for key := 6; key <= 9; key++ {
		r.put(key, "more")
	}
	expect(1, "")
	expect(4, "")
	for key := 5; key <= 8; key++ {
		if _, ok := r.get(key); !ok {
			t.Errorf("%d was dropped", key)
		}
	}
	expect(9, "more")
}

// Generations are bounded, whatever concurrent lookups do.
func TestRecentIsBounded(t *testing.T) {
	r := recent[int, int]{limit: 16}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 2000 {
				key := i * (worker + 1) % 100
				if v, ok := r.get(key); ok && v != key {
					t.Errorf("%d is %d", key, v)
				}
				r.put(key, key)
				if v, ok := r.get(i % 3); ok && v != i%3 {
					t.Errorf("%d is %d", i%3, v)
				}
			}
		})
	}
	all.Wait()
	g := r.published.Load()
	if len(g.old) > r.limit || len(g.fresh)+len(r.added) > r.limit {
		t.Errorf("%d, %d and %d entries", len(g.old), len(g.fresh), len(r.added))
	}
}

// BenchmarkRecent is the lookup of the credential of most requests, by all processors.
func BenchmarkRecent(b *testing.B) {
	r := recent[[32]byte, int]{limit: 1024}
	for i := range 100 {
		r.put([32]byte{byte(i)}, i)
	}
	for range 1000 {
		r.get([32]byte{1})
	}
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, ok := r.get([32]byte{1}); !ok {
				b.Error("not found")
			}
		}
	})
}
