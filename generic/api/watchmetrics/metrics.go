package watchmetrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/base/metrics"
)

// Metrics has the metrics of watches.
type Metrics struct {
	events    *prometheus.CounterVec
	sizes     *prometheus.HistogramVec
	initial   *prometheus.HistogramVec
	deletions atomic.Uint64 // number of deletions of series
}

// New registers the metrics.
func New(r *metrics.Registry) *Metrics {
	m := &Metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_watch_events_total",
			Help: "Events sent to watches, by kind."}, []string{"group", "version", "resource"}),
		sizes: prometheus.NewHistogramVec(r.MayBeNative(prometheus.HistogramOpts{Name: "apiserver_watch_events_sizes",
			Buckets: prometheus.ExponentialBuckets(1024, 2, 8),
			Help:    "Bytes of events sent to watches, by kind."}), []string{"group", "version", "resource"}),
		initial: prometheus.NewHistogramVec(r.MayBeNative(prometheus.HistogramOpts{
			Name: "apiserver_watch_list_duration_seconds",
			Buckets: []float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60, 90, 120,
				180, 300},
			Help: "Seconds until a watch with sendInitialEvents had sent the initial events."}),
			[]string{"group", "version", "resource", "scope"}),
	}
	r.OnForget(m.dropped)
	r.MustRegister(m.events, m.sizes, m.initial)
	return m
}

// Resource has the metrics of one resource's watches. It is safe for concurrent use.
type Resource struct {
	owner                    *Metrics
	group, version, resource string
	events                   metrics.Current[prometheus.Counter]
	sizes                    metrics.Current[prometheus.Observer]
}

// Of returns the metrics of a resource's watches. On a nil Metrics it returns nil, which counts nothing.
func (m *Metrics) Of(group, version, resource string) *Resource {
	if m == nil {
		return nil
	}
	return &Resource{owner: m, group: group, version: version, resource: resource}
}

// Sent counts an event with its size in bytes.
func (w *Resource) Sent(bytes int) {
	if w == nil {
		return
	}
	deletions := w.owner.deletions.Load()
	w.events.Get(deletions, func() prometheus.Counter {
		return w.owner.events.WithLabelValues(w.group, w.version,
			w.resource)
	}).Inc()
	w.sizes.Get(deletions, func() prometheus.Observer {
		return w.owner.sizes.WithLabelValues(w.group, w.version,
			w.resource)
	}).Observe(float64(bytes))
}

// Initialized records how long a watch took to send its initial events. scope is cluster, namespace or
// resource.
func (w *Resource) Initialized(scope string, took time.Duration) {
	if w != nil {
		w.owner.initial.WithLabelValues(w.group, w.version, w.resource, scope).Observe(took.Seconds())
	}
}

// dropped deletes the series of resources that are no longer served.
func (m *Metrics) dropped(gone metrics.Gone) {
	for _, l := range gone.RemoveFrom(m.events.MetricVec) {
		m.sizes.Delete(l)
	}
	gone.RemoveFrom(m.initial.MetricVec)
	m.deletions.Add(1)
}
