package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Expressions measures the validation rules of custom resources. A nil Expressions measures nothing.
type Expressions struct{ compiled, evaluated prometheus.Histogram }

func newExpressions(r prometheus.Registerer) *Expressions {
	m := &Expressions{
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

// Compiled observes the compilation of the rules of one schema.
func (m *Expressions) Compiled(took time.Duration) {
	if m != nil {
		m.compiled.Observe(took.Seconds())
	}
}

// Evaluated observes an evaluation that started at begun.
func (m *Expressions) Evaluated(begun time.Time) {
	if m != nil {
		m.evaluated.Observe(time.Since(begun).Seconds())
	}
}
