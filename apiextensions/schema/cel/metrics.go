package cel

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics measures the validation rules of custom resources. A nil Metrics measures nothing.
type Metrics struct{ compiled, evaluated prometheus.Histogram }

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		compiled: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "apiserver_cel_compilation_duration_seconds",
			Buckets: prometheus.DefBuckets,
			Help:    "Seconds that compiling the validation rules of a schema within a custom resource's took."}),
		evaluated: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "apiserver_cel_evaluation_duration_seconds",
			Buckets: prometheus.DefBuckets,
			Help:    "Seconds that evaluating a validation rule of a custom resource took."}),
	}
	r.MustRegister(m.compiled, m.evaluated)
	return m
}

// ruleSetCompiled observes the compilation of the rules of one schema.
func (m *Metrics) ruleSetCompiled(took time.Duration) {
	if m != nil {
		m.compiled.Observe(took.Seconds())
	}
}

// ruleEvaluated observes an evaluation that started at begun.
func (m *Metrics) ruleEvaluated(begun time.Time) {
	if m != nil {
		m.evaluated.Observe(time.Since(begun).Seconds())
	}
}
