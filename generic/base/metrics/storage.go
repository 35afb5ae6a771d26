package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Storage has the metrics of requests to etcd.
type Storage struct {
	requests, errors *prometheus.CounterVec
	duration         *prometheus.HistogramVec
	deletions        atomic.Uint64 // number of deletions of series
	// The counters of lists: lists, and the objects that they read, evaluated and returned. The latter are
	// equal, because caches list all objects and select afterwards.
	lists, fetched, evaluated, returned *prometheus.CounterVec
}

func newStorage(r prometheus.Registerer, s scale) *Storage {
	labels := []string{"operation", "group", "resource"}
	m := &Storage{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "etcd_requests_total",
			Help: "Requests to etcd, by operation and resource."}, labels),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "etcd_request_errors_total",
			Help: "Requests to etcd that failed, by operation and resource."}, labels),
		duration: prometheus.NewHistogramVec(s.of(prometheus.HistogramOpts{Name: "etcd_request_duration_seconds",
			Help: "Seconds that requests to etcd took, by operation and resource.",
			Buckets: []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
				60}}), labels),
	}
	list := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_storage_list_" + name, Help: help},
			[]string{"group", "resource"})
	}
	m.lists = list("total", "Lists that were read from storage, by resource.")
	m.fetched = list("fetched_objects_total", "Objects that lists have read from storage, by resource.")
	m.evaluated = list("evaluated_objects_total", "Objects that lists from storage have tested, by resource.")
	m.returned = list("returned_objects_total", "Objects that lists from storage have returned, by resource.")
	r.MustRegister(m.requests, m.errors, m.duration, m.lists, m.fetched, m.evaluated, m.returned)
	return m
}

// Listed counts a list that returned this number of objects.
func (m *Storage) Listed(group, resource string, objects int) {
	m.lists.WithLabelValues(group, resource).Inc()
	for _, c := range []*prometheus.CounterVec{m.fetched, m.evaluated, m.returned} {
		c.WithLabelValues(group, resource).Add(float64(objects))
	}
}

// Operation counts one operation on one resource. Its observers are created on first use. It is safe for
// concurrent use.
type Operation struct {
	owner                      *Storage
	operation, group, resource string
	requests, errors           current[prometheus.Counter]
	duration                   current[prometheus.Observer]
}

// Of returns the counters of an operation on a resource.
func (m *Storage) Of(operation, group, resource string) *Operation {
	return &Operation{owner: m, operation: operation, group: group, resource: resource}
}

// Done counts a request that started at begun. failed is whether it returned an error.
func (o *Operation) Done(begun time.Time, failed bool) {
	deletions := o.owner.deletions.Load()
	o.requests.get(deletions, func() prometheus.Counter {
		return o.owner.requests.WithLabelValues(o.operation, o.group,
			o.resource)
	}).Inc()
	if failed {
		o.errors.get(deletions, func() prometheus.Counter {
			return o.owner.errors.WithLabelValues(o.operation, o.group,
				o.resource)
		}).Inc()
	}
	o.duration.get(deletions, func() prometheus.Observer {
		return o.owner.duration.WithLabelValues(o.operation, o.group,
			o.resource)
	}).
		Observe(time.Since(begun).Seconds())
}
