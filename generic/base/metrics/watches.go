package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Watches has the metrics of watches.
type Watches struct {
	events    *prometheus.CounterVec
	sizes     *prometheus.HistogramVec
	initial   *prometheus.HistogramVec
	deletions atomic.Uint64 // number of deletions of series
}

func newWatches(r prometheus.Registerer, s scale) *Watches {
	m := &Watches{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_watch_events_total",
			Help: "Events sent to watches, by kind."}, []string{"group", "version", "resource"}),
		sizes: prometheus.NewHistogramVec(s.of(prometheus.HistogramOpts{Name: "apiserver_watch_events_sizes",
			Buckets: prometheus.ExponentialBuckets(1024, 2, 8),
			Help:    "Bytes of events sent to watches, by kind."}), []string{"group", "version", "resource"}),
		initial: prometheus.NewHistogramVec(s.of(prometheus.HistogramOpts{Name: "apiserver_watch_list_duration_seconds",
			Buckets: []float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60},
			Help:    "Seconds until a watch with sendInitialEvents had sent the initial events."}),
			[]string{"group", "version", "resource", "scope"}),
	}
	r.MustRegister(m.events, m.sizes, m.initial)
	return m
}

// WatchesOf has the metrics of one resource's watches. It is safe for concurrent use.
type WatchesOf struct {
	owner                    *Watches
	group, version, resource string
	events                   current[prometheus.Counter]
	sizes                    current[prometheus.Observer]
}

// Of returns the metrics of a resource's watches. On a nil Watches it returns nil, which counts nothing.
func (m *Watches) Of(group, version, resource string) *WatchesOf {
	if m == nil {
		return nil
	}
	return &WatchesOf{owner: m, group: group, version: version, resource: resource}
}

// Sent counts an event with its size in bytes.
func (w *WatchesOf) Sent(bytes int) {
	if w == nil {
		return
	}
	deletions := w.owner.deletions.Load()
	w.events.get(deletions, func() prometheus.Counter {
		return w.owner.events.WithLabelValues(w.group, w.version,
			w.resource)
	}).Inc()
	w.sizes.get(deletions, func() prometheus.Observer {
		return w.owner.sizes.WithLabelValues(w.group, w.version,
			w.resource)
	}).Observe(float64(bytes))
}

// Initialized records how long a watch took to send its initial events. scope is cluster, namespace or
// resource.
func (w *WatchesOf) Initialized(scope string, took time.Duration) {
	if w != nil {
		w.owner.initial.WithLabelValues(w.group, w.version, w.resource, scope).Observe(took.Seconds())
	}
}
