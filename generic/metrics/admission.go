package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Admission is how long admission takes.
type Admission struct {
	plugins, steps *prometheus.HistogramVec
	summary        *prometheus.SummaryVec
}

func newAdmission(r prometheus.Registerer) *Admission {
	labels := []string{"type", "operation", "rejected"}
	buckets := []float64{0.005, 0.025, 0.1, 0.5, 1, 2.5}
	m := &Admission{
		plugins: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_admission_controller_admission_duration_seconds", Buckets: buckets,
			Help: "Seconds that an admission plugin took, by its name, operation, and type: admit or validate."}, append([]string{"name"}, labels...)),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_admission_step_admission_duration_seconds", Buckets: buckets,
			Help: "Seconds that all plugins of a step took together: admit or validate."}, labels),
		summary: prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: "apiserver_admission_step_admission_duration_seconds_summary",
			Objectives: map[float64]float64{0.5: 0.05, 0.9: 0.01, 0.99: 0.001}, MaxAge: 5 * time.Hour,
			Help: "Quantiles of the seconds that all plugins of a step took together: admit or validate."}, labels),
	}
	r.MustRegister(m.plugins, m.steps, m.summary)
	return m
}

// operations of admission, as labels have them.
var operations = [...]string{"CREATE", "UPDATE", "DELETE", "CONNECT"}

// AdmissionTimer observes one plugin, or one step. The nil timer observes nothing. It
// may be used concurrently.
type AdmissionTimer struct {
	make      func(operation, rejected string) prometheus.Observer
	observers [len(operations)][2]lazy[prometheus.Observer]
}

// Plugin returns the timer of a plugin; kind is "admit" or "validate".
func (m *Admission) Plugin(name, kind string) *AdmissionTimer {
	if m == nil {
		return nil
	}
	return &AdmissionTimer{make: func(operation, rejected string) prometheus.Observer {
		return m.plugins.WithLabelValues(name, kind, operation, rejected)
	}}
}

// Step returns the timer of all plugins together; kind is "admit" or "validate".
func (m *Admission) Step(kind string) *AdmissionTimer {
	if m == nil {
		return nil
	}
	return &AdmissionTimer{make: func(operation, rejected string) prometheus.Observer {
		return both{m.steps.WithLabelValues(kind, operation, rejected), m.summary.WithLabelValues(kind, operation, rejected)}
	}}
}

// both observes in two metrics.
type both [2]prometheus.Observer

// Observe implements prometheus.Observer.
func (b both) Observe(v float64) {
	b[0].Observe(v)
	b[1].Observe(v)
}

// Observe records that an operation took from begun until now.
func (t *AdmissionTimer) Observe(operation string, rejected bool, begun time.Time) {
	if t == nil {
		return
	}
	for i, known := range operations {
		if known == operation {
			n, text := 0, "false"
			if rejected {
				n, text = 1, "true"
			}
			t.observers[i][n].get(func() prometheus.Observer { return t.make(operation, text) }).Observe(time.Since(begun).Seconds())
			return
		}
	}
}
