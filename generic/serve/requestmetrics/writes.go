package requestmetrics

import (
	"regexp"

	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/base/metrics"
)

// writeMetrics are the metrics of requests with a body.
type writeMetrics struct {
	bodies      *prometheus.HistogramVec
	deprecated  *prometheus.GaugeVec
	validations map[string]prometheus.Observer // by field validation
}

// addWrites creates the metrics of request bodies and filters.
func (m *Requests) addWrites(r *metrics.Registry) {
	m.bodies = prometheus.NewHistogramVec(r.MayBeNative(prometheus.HistogramOpts{Name: "apiserver_request_body_size_bytes",
		Buckets: prometheus.LinearBuckets(50000, 100000, 31), Help: "Bytes of request bodies, by resource and verb."}),
		[]string{"resource", "verb", "group"})
	m.deprecated = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_requested_deprecated_apis",
		Help: "1 for deprecated APIs that were requested, with the release that removes them."},
		[]string{"group", "version", "resource", "subresource", "removed_release"})
	m.filters = prometheus.NewHistogramVec(r.MayBeNative(prometheus.HistogramOpts{
		Name:    "apiserver_request_filter_duration_seconds",
		Buckets: []float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5, 10, 15, 30},
		Help:    "Seconds that a filter took, by its name."}), []string{"filter"})
	took := prometheus.NewHistogramVec(r.MayBeNative(prometheus.HistogramOpts{
		Name:    "field_validation_request_duration_seconds",
		Buckets: []float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60},
		Help:    "Seconds that writes took, by field validation."}), []string{"field_validation"})
	m.validations = map[string]prometheus.Observer{}
	for _, v := range []string{"Strict", "Warn", "Ignore"} {
		m.validations[v] = took.WithLabelValues(v)
	}
	m.handshakes = prometheus.NewCounter(prometheus.CounterOpts{Name: "apiserver_tls_handshake_errors_total",
		Help: "TLS handshakes that failed."})
	r.MustRegister(m.handshakes, m.bodies, m.deprecated, m.filters, took)
}

// HandshakeFailed counts a TLS handshake that failed.
func (m *Requests) HandshakeFailed() { m.handshakes.Inc() }

// Filter returns the observer of a filter's duration in seconds.
func (m *Requests) Filter(name string) prometheus.Observer { return m.filters.WithLabelValues(name) }

// removed matches the release that removes a kind in its deprecation warning.
var removed = regexp.MustCompile(`unavailable in v(\d+\.\d+)\+`)

// observeWrite records the body and the kind of a request for a known resource.
func (m *Requests) observeWrite(s *series, d *Done) {
	if s.key.Resource == "" {
		return
	}
	if v := m.validations[d.Validation]; v != nil {
		v.Observe(d.Duration.Seconds())
	}
	if d.Body > 0 {
		s.body.Get(func() prometheus.Observer {
			return m.bodies.WithLabelValues(s.key.Resource, bodyVerb(&s.key), s.key.Group)
		}).Observe(float64(d.Body))
	}
	if d.Deprecation != "" {
		s.deprecated.Get(func() struct{} {
			release := ""
			if found := removed.FindStringSubmatch(d.Deprecation); found != nil {
				release = found[1]
			}
			k := &s.key
			m.deprecated.WithLabelValues(k.Group, k.Version, k.Resource, k.Subresource, release).Set(1)
			return struct{}{}
		})
	}
}

// bodyVerb returns the label "verb" of the sizes of bodies.
func bodyVerb(k *Series) string {
	switch k.Verb {
	case "POST":
		return "create"
	case "PUT":
		return "update"
	case "PATCH", "APPLY":
		return "patch"
	}
	if k.Scope != "resource" {
		return "delete_collection"
	}
	return "delete"
}
