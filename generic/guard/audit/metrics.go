package audit

import "github.com/prometheus/client_golang/prometheus"

// Metrics has the metrics of audit events.
type Metrics struct {
	// Events counts emitted events. Rejected counts requests that were rejected because their event was not
	// stored.
	Events, Rejected prometheus.Counter

	levels, errors *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		Events: prometheus.NewCounter(prometheus.CounterOpts{Name: "apiserver_audit_event_total",
			Help: "Audit events emitted and sent to the audit backends."}),
		Rejected: prometheus.NewCounter(prometheus.CounterOpts{Name: "apiserver_audit_requests_rejected_total",
			Help: "Requests rejected because the audit backend failed."}),
		levels: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_audit_level_total",
			Help: "Requests by the level that the audit policy gives them."}, []string{"level"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_audit_error_total",
			Help: "Audit events that were not audited properly, by the plugin that failed."}, []string{"plugin"}),
	}
	r.MustRegister(m.Events, m.Rejected, m.levels, m.errors)
	return m
}

// Level counts a request by its audit level.
func (m *Metrics) Level(level string) { m.levels.WithLabelValues(level).Inc() }

// Failed counts n events that a backend failed to store.
func (m *Metrics) Failed(plugin string, n int) { m.errors.WithLabelValues(plugin).Add(float64(n)) }
