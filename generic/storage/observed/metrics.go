package observed

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/base/metrics"
)

// Metrics has the metrics of requests to the store. They have the names of kube-apiserver, whose store is etcd.
type Metrics struct {
	requests, errors *prometheus.CounterVec
	duration         *prometheus.HistogramVec
	deletions        atomic.Uint64 // number of deletions of series
	// The counters of lists: lists, and the objects that they read, evaluated and returned. The latter are
	// equal, because caches list all objects and select afterwards.
	lists, fetched, evaluated, returned *prometheus.CounterVec
	listDuration                        *prometheus.HistogramVec

	swept *operation // ranges in the context of Sweep

	mu        sync.Mutex
	resources map[schema.GroupResource]*operations
}

// Help texts of the metrics of lists that caches have too. Both have to be alike.
const (
	ListsHelp    = "Lists that were read from storage or a cache, by resource."
	ReturnedHelp = "Objects that lists from storage or a cache have returned, by resource."
)

// NewMetrics registers the metrics.
func NewMetrics(r *metrics.Registry) *Metrics {
	labels := []string{"operation", "group", "resource"}
	seconds := []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15,
		20, 30, 45, 60}
	m := &Metrics{
		resources: map[schema.GroupResource]*operations{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "etcd_requests_total",
			Help: "Requests to the store, etcd or PostgreSQL, by operation and resource."}, labels),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "etcd_request_errors_total",
			Help: "Requests to the store, etcd or PostgreSQL, that failed, by operation and resource."}, labels),
		duration: prometheus.NewHistogramVec(r.MayBeNative(prometheus.HistogramOpts{Name: "etcd_request_duration_seconds",
			Help:    "Seconds that requests to the store, etcd or PostgreSQL, took, by operation and resource.",
			Buckets: seconds}), labels),
	}
	m.swept = &operation{owner: m, name: "list"}
	list := func(name, help string, more ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_storage_list_" + name, Help: help,
			ConstLabels: prometheus.Labels{"storage": "etcd"}}, append([]string{"group", "resource"}, more...))
	}
	m.lists = list("total", ListsHelp, "index")
	m.fetched = list("fetched_objects_total", "Objects that lists have read from storage, by resource.", "index")
	m.evaluated = list("evaluated_objects_total", "Objects that lists from storage have tested, by resource.")
	m.returned = list("returned_objects_total", ReturnedHelp)
	m.listDuration = prometheus.NewHistogramVec(r.MayBeNative(prometheus.HistogramOpts{
		Name: "apiserver_storage_list_duration_seconds", Buckets: seconds,
		Help:        "Seconds that lists from storage took, by resource. No list is streamed.",
		ConstLabels: prometheus.Labels{"streamed": "false"}}), []string{"group", "resource"})
	r.OnForget(m.dropped)
	r.MustRegister(m.requests, m.errors, m.duration, m.lists, m.fetched, m.evaluated, m.returned, m.listDuration)
	return m
}

// listed counts a list that took some time and returned this number of objects.
func (m *Metrics) listed(group, resource string, took time.Duration, objects int) {
	m.lists.WithLabelValues(group, resource, "").Inc()
	m.listDuration.WithLabelValues(group, resource).Observe(took.Seconds())
	m.fetched.WithLabelValues(group, resource, "").Add(float64(objects))
	m.evaluated.WithLabelValues(group, resource).Add(float64(objects))
	m.returned.WithLabelValues(group, resource).Add(float64(objects))
}

// operations count the requests of one resource, whichever backend has it.
type operations struct {
	get, list, count, create, update, remove, swept *operation
	attributes                                      []attribute.KeyValue
	listed                                          func(took time.Duration, objects int)
}

// operation counts one operation on one resource. Its observers are created on first use. It is safe for
// concurrent use.
type operation struct {
	owner                 *Metrics
	name, group, resource string
	requests, errors      metrics.Current[prometheus.Counter]
	duration              metrics.Current[prometheus.Observer]
}

// of returns the operations of a resource.
func (m *Metrics) of(group, resource string) *operations {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := schema.GroupResource{Group: group, Resource: resource}
	o := m.resources[key]
	if o == nil {
		one := func(name string) *operation {
			return &operation{owner: m, name: name, group: group, resource: resource}
		}
		o = &operations{get: one("get"), list: one("list"), count: one("listOnlyCount"), create: one("create"),
			update: one("update"), remove: one("delete"), swept: m.swept,
			listed:     func(took time.Duration, objects int) { m.listed(group, resource, took, objects) },
			attributes: []attribute.KeyValue{attribute.String("group", group), attribute.String("resource", resource)}}
		m.resources[key] = o
	}
	return o
}

// done counts a request that started at begun. failed is whether it returned an error.
func (o *operation) done(begun time.Time, failed bool) {
	deletions := o.owner.deletions.Load()
	o.requests.Get(deletions, func() prometheus.Counter {
		return o.owner.requests.WithLabelValues(o.name, o.group,
			o.resource)
	}).Inc()
	if failed {
		o.errors.Get(deletions, func() prometheus.Counter {
			return o.owner.errors.WithLabelValues(o.name, o.group,
				o.resource)
		}).Inc()
	}
	o.duration.Get(deletions, func() prometheus.Observer {
		return o.owner.duration.WithLabelValues(o.name, o.group,
			o.resource)
	}).
		Observe(time.Since(begun).Seconds())
}

// dropped deletes the series of resources that are no longer served.
func (m *Metrics) dropped(gone metrics.Gone) {
	for _, l := range gone.RemoveFrom(m.requests.MetricVec) {
		m.errors.Delete(l)
		m.duration.Delete(l)
	}
	for _, l := range gone.RemoveFrom(m.lists.MetricVec) {
		delete(l, "storage") // the constant label, with which nothing is found
		m.lists.Delete(l)
		m.fetched.Delete(l)
		delete(l, "index")
		m.evaluated.Delete(l)
		m.returned.Delete(l)
		m.listDuration.Delete(l)
	}
	m.deletions.Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.resources {
		if gone.Has(key.Group, key.Resource) {
			delete(m.resources, key)
		}
	}
}
