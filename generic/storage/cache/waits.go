package cache

import (
	"sort"
	"sync/atomic"
	"time"
)

// waitBounds are the upper bounds of the buckets of Waits in seconds.
var waitBounds = [...]float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3}

// Waits is the distribution of how long reads waited for a fresh cache.
type Waits struct {
	reads [len(waitBounds) + 1]uint64
	Total time.Duration
}

// Histogram returns the number of reads, and the cumulative count for each upper bound in seconds.
func (w *Waits) Histogram() (reads uint64, upTo map[float64]uint64) {
	upTo = make(map[float64]uint64, len(waitBounds))
	for i, n := range w.reads {
		reads += n
		if i < len(waitBounds) {
			upTo[waitBounds[i]] = reads
		}
	}
	return reads, upTo
}

// waits counts the waits of a cache.
type waits struct {
	reads [len(waitBounds) + 1]atomic.Uint64
	total atomic.Int64 // nanoseconds
}

// none counts a read that did not wait.
func (w *waits) none() { w.reads[0].Add(1) }

func (w *waits) add(d time.Duration) {
	w.reads[sort.SearchFloat64s(waitBounds[:], d.Seconds())].Add(1)
	w.total.Add(int64(d))
}

func (w *waits) load() Waits {
	out := Waits{Total: time.Duration(w.total.Load())}
	for i := range w.reads {
		out.reads[i] = w.reads[i].Load()
	}
	return out
}
