package requestmetrics

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/base/metrics"
)

// maxSeries limits how many Series are counted separately, because clients could invent resources.
const maxSeries = 8192

// Series identifies a kind of request. Verb is the verb in metrics (GET, LIST, POST, APPLY…). Scope is cluster,
// namespace or resource. Without a Resource, Subresource is one of a few paths that are counted separately.
type Series struct {
	Verb, Group, Version, Resource, Subresource, Scope string
}

// Requests has the metrics of requests. All methods are safe for concurrent use and do not allocate for an
// existing Series.
type Requests struct {
	total        *prometheus.CounterVec
	duration     *prometheus.HistogramVec
	sli          *prometheus.HistogramVec
	sizes        *prometheus.HistogramVec
	longRunning  *prometheus.GaugeVec
	terminations *prometheus.CounterVec
	aborts       *prometheus.CounterVec
	self         *prometheus.CounterVec
	inflight     *prometheus.GaugeVec
	filters      *prometheus.HistogramVec
	handshakes   prometheus.Counter
	writeMetrics

	mu     sync.RWMutex
	series map[Series]*series
	// counting is locked for reading while a request is counted, and for writing while series are deleted.
	// Otherwise a request could leave some of its series behind.
	counting sync.RWMutex
}

// series has the observers of one Series. Each is created on first use.
type series struct {
	owner                        *Requests
	key                          Series
	duration, dryRun, sli, sizes metrics.Lazy[prometheus.Observer]
	running                      metrics.Lazy[prometheus.Gauge]
	body                         metrics.Lazy[prometheus.Observer]
	deprecated                   metrics.Lazy[struct{}]
	// outcomes is copied on write, because it is small.
	outcomes atomic.Pointer[[]outcome]
}

type outcome struct {
	code    int
	dryRun  bool
	counter prometheus.Counter
}

// Done describes a finished request.
type Done struct {
	Series
	// Known is set if the request was authorized and its resource exists. Other requests are counted by verb
	// only.
	Known    bool
	Code     int
	Bytes    int64
	Duration time.Duration
	// Outside is the part of Duration for webhooks and for the wait in queues.
	Outside time.Duration
	DryRun  bool
	// LongRunning requests are excluded from durations.
	LongRunning bool
	// Body is the size of the request body in bytes, if known.
	Body int64
	// Validation is the field validation of a write: Strict, Warn or Ignore.
	Validation string
	// Deprecation is the deprecation warning for the requested kind.
	Deprecation string
}

func newRequests(r *metrics.Registry) *Requests {
	what := []string{"verb", "group", "version", "resource", "subresource", "scope"}
	with := func(more ...string) []string { return append(append([]string(nil), what...), more...) }
	seconds := []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
		60}
	m := &Requests{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_request_total",
			Help: "Requests by verb, resource, scope, dry run, component and HTTP response code."},
			with("dry_run", "component", "code")),
		duration: prometheus.NewHistogramVec(r.MayBeNative(prometheus.HistogramOpts{
			Name: "apiserver_request_duration_seconds", Buckets: seconds,
			Help: "Seconds from a request's arrival to the end of its response."}), with("dry_run", "component")),
		sli: prometheus.NewHistogramVec(r.MayBeNative(prometheus.HistogramOpts{Name: "apiserver_request_sli_duration_seconds",
			Buckets: seconds[2:],
			Help:    "Seconds that requests took, without long-running ones, webhooks and the wait in queues."}),
			with("component")),
		sizes: prometheus.NewHistogramVec(r.MayBeNative(prometheus.HistogramOpts{Name: "apiserver_response_sizes",
			Buckets: prometheus.ExponentialBuckets(1000, 10, 7),
			Help:    "Bytes of response bodies."}), with("component")),
		longRunning: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_longrunning_requests",
			Help: "Long-running requests that are open."}, with("component")),
		terminations: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_request_terminations_total",
			Help: "Requests that the server ended itself: panics, timeouts, overload."}, with("component", "code")),
		aborts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_request_aborts_total",
			Help: "Requests that were cut off, mostly by a timeout."}, what),
		self: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_selfrequest_total",
			Help: "Requests of the server to itself."}, []string{"verb", "group", "resource", "subresource"}),
		inflight: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_current_inflight_requests",
			Help: "Requests being handled, by kind."}, []string{"request_kind"}),
		series: map[Series]*series{},
	}
	m.addWrites(r)
	r.OnForget(m.dropped)
	r.MustRegister(m.total, m.duration, m.sli, m.sizes, m.longRunning, m.terminations, m.aborts, m.self, m.inflight)
	return m
}

// InFlight returns the gauge for requests of a kind, "readOnly" or "mutating".
func (m *Requests) InFlight(kind string) prometheus.Gauge { return m.inflight.WithLabelValues(kind) }

// Observe counts a finished request. Only requests for known resources create labels, so that clients cannot
// fill the memory.
func (m *Requests) Observe(d *Done) {
	m.counting.RLock()
	defer m.counting.RUnlock()
	s := m.find(d.Series, (d.Known || d.Resource == "") && d.labelsAreShort())
	if s == nil {
		s = m.find(Series{Verb: d.Verb}, true)
	}
	s.counter(d).Inc()
	seconds := d.Duration.Seconds()
	if d.DryRun {
		s.dryRun.Get(s.makeDryRun).Observe(seconds)
	} else {
		s.duration.Get(s.makeDuration).Observe(seconds)
	}
	m.observeWrite(s, d)
	if !d.LongRunning {
		s.sli.Get(s.makeSLI).Observe(max(0, (d.Duration - d.Outside).Seconds()))
		if d.Verb == "GET" || d.Verb == "LIST" {
			s.sizes.Get(s.makeSizes).Observe(float64(d.Bytes))
		}
	}
}

// Limits for names of resources (a DNS label), versions and groups in labels.
const (
	maxLabel = 63
	maxGroup = 253
)

// labelsAreShort reports whether all names have a valid length. A remote server may respond to any path.
func (k *Series) labelsAreShort() bool {
	return len(k.Resource) <= maxLabel && len(k.Subresource) <= maxLabel && len(k.Version) <= maxLabel &&
		len(k.Group) <= maxGroup
}

// LongRunning returns the gauge of open long-running requests of a Series, for known resources only.
func (m *Requests) LongRunning(k Series) prometheus.Gauge {
	m.counting.RLock()
	defer m.counting.RUnlock()
	s := m.find(k, k.labelsAreShort())
	if s == nil {
		s = m.find(Series{Verb: k.Verb}, true)
	}
	return s.running.Get(s.makeRunning)
}

// Terminated counts a request that the server ended with a status code.
func (m *Requests) Terminated(k Series, code int) {
	m.counting.RLock()
	defer m.counting.RUnlock()
	if m.find(k, false) == nil {
		k = Series{Verb: k.Verb}
	}
	m.terminations.WithLabelValues(k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope, k.component(),
		strconv.Itoa(code)).Inc()
}

// Aborted counts a request that was aborted after the response had begun.
func (m *Requests) Aborted(k Series) {
	m.counting.RLock()
	defer m.counting.RUnlock()
	if m.find(k, false) == nil {
		k = Series{Verb: k.Verb}
	}
	m.aborts.WithLabelValues(k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope).Inc()
}

// Self counts a request of the server to itself.
func (m *Requests) Self(k Series) {
	m.self.WithLabelValues(k.Verb, k.Group, k.Resource, k.Subresource).Inc()
}

// find returns the series of k. Without one it returns nil, or a new one if create is set and there are fewer
// than maxSeries.
func (m *Requests) find(k Series, create bool) *series {
	m.mu.RLock()
	s := m.series[k]
	full := len(m.series) >= maxSeries
	m.mu.RUnlock()
	if s != nil || !create || (full && k.Resource != "") {
		return s
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.series[k]; s != nil {
		return s
	}
	s = &series{owner: m, key: k}
	s.outcomes.Store(&[]outcome{})
	m.series[k] = s
	return s
}
