package metrics

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxSeries bounds how many kinds of requests are counted apart, against clients
// that invent resources.
const maxSeries = 8192

const component = "apiserver"

// Series identifies requests of one kind. Verb is in the metrics' own
// spelling (GET, LIST, POST, APPLY…), Scope is cluster, namespace or resource.
type Series struct {
	Verb, Group, Version, Resource, Subresource, Scope string
}

// Requests is what is counted about requests. All methods are safe for
// concurrent use and allocate nothing for a kind of request seen before.
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
	bodies       *prometheus.HistogramVec
	deprecated   *prometheus.GaugeVec
	filters      *prometheus.HistogramVec
	handshakes   prometheus.Counter
	validations  map[string]prometheus.Observer

	mu     sync.RWMutex
	series map[Series]*series
	// counting is held shared while a request is counted, and alone while series are
	// forgotten: one that is counted meanwhile would leave some of its series for ever.
	counting sync.RWMutex
}

// series is the observers of one Series, each found when it is first needed.
type series struct {
	owner                        *Requests
	key                          Series
	duration, dryRun, sli, sizes lazy[prometheus.Observer]
	running                      lazy[prometheus.Gauge]
	body                         lazy[prometheus.Observer]
	deprecated                   lazy[struct{}]
	// outcomes is copied on write: there are few.
	outcomes atomic.Pointer[[]outcome]
}

type outcome struct {
	code    int
	dryRun  bool
	client  string
	counter prometheus.Counter
}

// Done describes a finished request.
type Done struct {
	Series
	// Known says that the request was authorized and for a resource that exists;
	// others are counted by their verb alone.
	Known    bool
	Code     int
	Bytes    int64
	Duration time.Duration
	// Outside is the part of Duration that is not this server's: webhooks, and the
	// wait for a turn.
	Outside time.Duration
	DryRun  bool
	// Client is kube-controller-manager or kube-scheduler, "" for others.
	Client string
	// LongRunning requests have no meaningful duration for service levels.
	LongRunning bool
	// Body is the size of the request's body in bytes, where it is known.
	Body int64
	// Validation is what a write does with unknown fields: Strict, Warn or Ignore.
	Validation string
	// Deprecation is the warning about the requested kind.
	Deprecation string
}

func newRequests(r prometheus.Registerer, s scale) *Requests {
	what := []string{"verb", "group", "version", "resource", "subresource", "scope"}
	with := func(more ...string) []string { return append(append([]string(nil), what...), more...) }
	seconds := []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}
	m := &Requests{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_request_total",
			Help: "Requests by verb, resource, scope, dry run, component and HTTP response code."}, with("dry_run", "component", "code", "system_client")),
		duration: prometheus.NewHistogramVec(s.of(prometheus.HistogramOpts{Name: "apiserver_request_duration_seconds", Buckets: seconds,
			Help: "Seconds from a request's arrival to the end of its response."}), with("dry_run", "component")),
		sli: prometheus.NewHistogramVec(s.of(prometheus.HistogramOpts{Name: "apiserver_request_sli_duration_seconds", Buckets: seconds,
			Help: "Seconds that requests took, without long-running ones, webhooks and waits in queues."}), with("component")),
		sizes: prometheus.NewHistogramVec(s.of(prometheus.HistogramOpts{Name: "apiserver_response_sizes", Buckets: prometheus.ExponentialBuckets(1000, 10, 7),
			Help: "Bytes of response bodies."}), with("component")),
		longRunning: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_longrunning_requests",
			Help: "Long-running requests that are open."}, with("component")),
		terminations: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_request_terminations_total",
			Help: "Requests that the server ended itself: panics, timeouts, overload."}, with("component", "code")),
		aborts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_request_aborts_total",
			Help: "Requests that were cut off, mostly by a timeout."}, what),
		self: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_selfrequest_total",
			Help: "Requests that the server made to itself."}, []string{"verb", "group", "resource", "subresource"}),
		inflight: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_current_inflight_requests",
			Help: "Requests being answered, by kind."}, []string{"request_kind"}),
		series: map[Series]*series{},
	}
	m.addWrites(r, s)
	r.MustRegister(m.total, m.duration, m.sli, m.sizes, m.longRunning, m.terminations, m.aborts, m.self, m.inflight)
	return m
}

// InFlight is the gauge of a kind of requests, "readOnly" or "mutating".
func (m *Requests) InFlight(kind string) prometheus.Gauge { return m.inflight.WithLabelValues(kind) }

// Observe records a finished request. Labels come from requests for known resources
// only, so that nobody fills the memory with invented ones.
func (m *Requests) Observe(d *Done) {
	m.counting.RLock()
	defer m.counting.RUnlock()
	s := m.find(d.Series, d.Known && d.labelsAreShort())
	if s == nil {
		s = m.find(Series{Verb: d.Verb}, true)
	}
	s.counter(d).Inc()
	seconds := d.Duration.Seconds()
	if d.DryRun {
		s.dryRun.get(s.makeDryRun).Observe(seconds)
	} else {
		s.duration.get(s.makeDuration).Observe(seconds)
	}
	m.observeWrite(s, d)
	if !d.LongRunning {
		s.sli.get(s.makeSLI).Observe(max(0, (d.Duration - d.Outside).Seconds()))
		if d.Verb == "GET" || d.Verb == "LIST" {
			s.sizes.get(s.makeSizes).Observe(float64(d.Bytes))
		}
	}
}

// maxLabel is the longest name of a resource (a DNS label), group or version.
const (
	maxLabel = 63
	maxGroup = 253
)

// labelsAreShort is false for what no resource can be called: a remote server may
// answer to anything.
func (k *Series) labelsAreShort() bool {
	return len(k.Resource) <= maxLabel && len(k.Subresource) <= maxLabel && len(k.Version) <= maxLabel && len(k.Group) <= maxGroup
}

// LongRunning is the gauge of open long-running requests of a kind, for known
// resources only.
func (m *Requests) LongRunning(k Series) prometheus.Gauge {
	m.counting.RLock()
	defer m.counting.RUnlock()
	s := m.find(k, k.labelsAreShort())
	if s == nil {
		s = m.find(Series{Verb: k.Verb}, true)
	}
	return s.running.get(s.makeRunning)
}

// Terminated counts a request that the server ended itself with a status code.
func (m *Requests) Terminated(k Series, code int) {
	m.counting.RLock()
	defer m.counting.RUnlock()
	if m.find(k, false) == nil {
		k = Series{Verb: k.Verb}
	}
	m.terminations.WithLabelValues(k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope, component, strconv.Itoa(code)).Inc()
}

// Aborted counts a request that was cut off after its answer had begun.
func (m *Requests) Aborted(k Series) {
	m.counting.RLock()
	defer m.counting.RUnlock()
	if m.find(k, false) == nil {
		k = Series{Verb: k.Verb}
	}
	m.aborts.WithLabelValues(k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope).Inc()
}

// Self counts a request that the server made to itself.
func (m *Requests) Self(k Series) {
	m.self.WithLabelValues(k.Verb, k.Group, k.Resource, k.Subresource).Inc()
}

// find returns nil where there is no such series and none shall be made.
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
