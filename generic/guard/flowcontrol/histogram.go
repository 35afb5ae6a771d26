package flowcontrol

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// histogram counts observations by bucket. It is not safe for concurrent use.
type histogram struct {
	bounds []float64
	counts []uint64 // one for each bound, and one for larger values
	total  uint64
	sum    float64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

// bucket returns the index of the first bound that is not less than v.
func (h *histogram) bucket(v float64) int {
	for i, b := range h.bounds {
		if v <= b {
			return i
		}
	}
	return len(h.bounds)
}

func (h *histogram) observe(v float64) { h.add(h.bucket(v), v, 1) }

func (h *histogram) add(bucket int, v float64, times uint64) {
	h.counts[bucket] += times
	h.total += times
	h.sum += v * float64(times)
}

// metric returns a snapshot as a Prometheus histogram.
func (h *histogram) metric(d *prometheus.Desc, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.bounds))
	below := uint64(0)
	for i, b := range h.bounds {
		below += h.counts[i]
		buckets[b] = below
	}
	return prometheus.MustNewConstHistogram(d, h.total, h.sum, buckets, labels...)
}

// timing is a histogram of a value over time. Each nanosecond is one observation.
type timing struct {
	histogram
	value float64
	at    int // bucket of value
}

func newTiming(bounds []float64) timing { return timing{histogram: newHistogram(bounds)} }

// elapse counts the time in which the value was constant.
func (t *timing) elapse(d time.Duration) { t.add(t.at, t.value, uint64(d)) }

func (t *timing) set(v float64) {
	if v != t.value {
		t.value, t.at = v, t.bucket(v)
	}
}
