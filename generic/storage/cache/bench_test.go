package cache

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"triplane.dev/generic/storage"
)

func filledWorld(b *testing.B, n int) *world {
	w := newWorld(b)
	v := value(thing{Data: string(make([]byte, 500))})
	var wg sync.WaitGroup
	for part := range 10 {
		wg.Go(func() {
			for i := part; i < n; i += 10 {
				if _, err := w.backend.Create(context.Background(), fmt.Sprintf("%sns%d/%06d", pods, i%10, i), v, 0); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	w.list(storage.ListOptions{})
	return w
}

func BenchmarkGetConsistent(b *testing.B) {
	w := filledWorld(b, 1000)
	ctx := context.Background()
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := w.cache.Get(ctx, pods+"ns1/000001", storage.Freshness{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCreateThenGet measures a write and a consistent read of it.
func BenchmarkCreateThenGet(b *testing.B) {
	w := newWorld(b)
	ctx := context.Background()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key := fmt.Sprintf("%s%d", pods, i)
		if _, err := w.backend.Create(ctx, key, []byte("{}"), 0); err != nil {
			b.Fatal(err)
		}
		if _, err := w.cache.Get(ctx, key, storage.Freshness{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList5000(b *testing.B) {
	w := filledWorld(b, 5000)
	for name, opts := range map[string]storage.ListOptions{
		"all":       {},
		"namespace": {Prefix: pods + "ns1/"},
		"page":      {Limit: 500},
		"labels":    {Labels: selector(b, "a=b")},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.list(opts)
			}
		})
	}
}

// BenchmarkFanOut measures the delivery of an event to all watches.
func BenchmarkFanOut(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b)
			rev := w.create("ns/a", thing{})
			var wg, running sync.WaitGroup
			ctx, cancel := context.WithCancel(context.Background())
			for range n {
				s := w.watch(storage.WatchOptions{Revision: rev})
				running.Go(func() {
					for {
						events, err := s.Next(ctx)
						if err != nil {
							return
						}
						for range events {
							wg.Done()
						}
					}
				})
			}
			v := value(thing{Data: "x"})
			b.ReportAllocs()
			for b.Loop() {
				wg.Add(n)
				var err error
				if rev, err = w.backend.Update(ctx, pods+"ns/a", v, rev, 0); err != nil {
					b.Fatal(err)
				}
				wg.Wait()
			}
			cancel()
			running.Wait()
		})
	}
}

// BenchmarkApplyIndexed measures an event in the scope of one of many watches.
func BenchmarkApplyIndexed(b *testing.B) {
	w := newWorld(b)
	now := w.create("ns/a", thing{})
	for i := range 1000 {
		w.watch(storage.WatchOptions{Revision: now, Fields: on(fmt.Sprintf("n%d", i))})
	}
	w.list(storage.ListOptions{})
	v := value(thing{Node: "elsewhere"})
	b.ReportAllocs()
	change := []storage.Change{{Key: pods + "ns/b", Value: v, Revision: now}}
	for b.Loop() {
		change[0].Revision++
		w.cache.apply(change)
		w.cache.wake()
	}
}
