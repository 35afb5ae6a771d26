package podsecurity

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/pod-security-admission/api"

	"triplane.dev/generic/base/metrics"
)

// pluginMetrics counts the decisions of the plugin. A nil pluginMetrics counts nothing.
type pluginMetrics struct{ evaluations, exemptions, errors *prometheus.CounterVec }

// newMetrics registers the metrics. It returns nil if nothing is gathered.
func newMetrics(r *metrics.Registry) *pluginMetrics {
	if !r.Gathers() {
		return nil
	}
	what := []string{"request_operation", "resource", "subresource"}
	m := &pluginMetrics{
		evaluations: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pod_security_evaluations_total",
			Help: "Pods and templates of pods that were compared with a level, by decision."},
			append([]string{"decision", "policy_level", "policy_version", "mode"}, what...)),
		exemptions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pod_security_exemptions_total",
			Help: "Requests that are exempt from levels."}, what),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pod_security_errors_total",
			Help: "Errors that prevented a comparison with a level."}, append([]string{"fatal"}, what...)),
	}
	r.MustRegister(m.evaluations, m.exemptions, m.errors)
	for _, operation := range []string{"create", "update"} {
		for _, resource := range []string{"pod", "controller"} {
			m.exemptions.WithLabelValues(operation, resource, "")
		}
	}
	return m
}

// labels returns the labels of an operation.
func (w *workload) labels() []string {
	resource := "controller"
	if w.isPod {
		resource = "pod"
	}
	return []string{strings.ToLower(string(w.Operation)), resource, w.Subresource}
}

// evaluated counts an evaluation in the mode enforce, audit or warn. Audit and warn count only violations.
func (m *pluginMetrics) evaluated(w *workload, level api.LevelVersion, mode string, allowed bool) {
	if m == nil {
		return
	}
	decision := "deny"
	if allowed {
		decision = "allow"
	}
	m.evaluations.WithLabelValues(append([]string{decision, string(level.Level), level.Version.String(), mode},
		w.labels()...)...).Inc()
}

// exempt counts an exempt operation.
func (m *pluginMetrics) exempt(w *workload) {
	if m != nil {
		m.exemptions.WithLabelValues(w.labels()...).Inc()
	}
}

// failed counts an error that denies the operation.
func (m *pluginMetrics) failed(w *workload) {
	if m != nil {
		m.errors.WithLabelValues(append([]string{"true"}, w.labels()...)...).Inc()
	}
}
