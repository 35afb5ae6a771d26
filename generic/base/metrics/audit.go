package metrics

import "github.com/prometheus/client_golang/prometheus"

// Audit has the metrics of audit events.
type Audit struct {
	// Events counts emitted events. Rejected counts requests that were rejected because their event was not
	// stored.
	Events, Rejected prometheus.Counter

	levels, errors *prometheus.CounterVec
}

func newAudit(r prometheus.Registerer) *Audit {
	a := &Audit{
		Events: prometheus.NewCounter(prometheus.CounterOpts{Name: "apiserver_audit_event_total",
			Help: "Audit events emitted and sent to the audit backends."}),
		Rejected: prometheus.NewCounter(prometheus.CounterOpts{Name: "apiserver_audit_requests_rejected_total",
			Help: "Requests rejected because the audit backend failed."}),
		levels: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_audit_level_total",
			Help: "Requests by the level that the audit policy gives them."}, []string{"level"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_audit_error_total",
			Help: "Audit events that were not audited properly, by the plugin that failed."}, []string{"plugin"}),
	}
	r.MustRegister(a.Events, a.Rejected, a.levels, a.errors)
	return a
}

// Level counts a request by its audit level.
func (a *Audit) Level(level string) { a.levels.WithLabelValues(level).Inc() }

// Failed counts n events that a backend failed to store.
func (a *Audit) Failed(plugin string, n int) { a.errors.WithLabelValues(plugin).Add(float64(n)) }
