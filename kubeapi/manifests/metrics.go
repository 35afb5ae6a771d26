package manifests

import "github.com/prometheus/client_golang/prometheus"

// metrics are the metrics of an applier.
type metrics struct {
	passes                     *prometheus.CounterVec
	objects, problems, success prometheus.Gauge
	pruned                     prometheus.Counter
}

func newMetrics() *metrics {
	return &metrics{
		passes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "triplane_manifests_passes_total",
			Help: "Passes over the directory of --manifests, by result: success, or failure if any object failed.",
		}, []string{"result"}),
		objects: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "triplane_manifests_applied_objects", Help: "Objects that the last pass over --manifests applied.",
		}),
		problems: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "triplane_manifests_failed_objects",
			Help: "Files and objects of --manifests that the last pass could not read or apply. They are retried.",
		}),
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "triplane_manifests_last_success_timestamp_seconds",
			Help: "Time of the last pass over --manifests without failures.",
		}),
		pruned: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "triplane_manifests_pruned_objects_total",
			Help: "Objects that were deleted because they were removed from the files of --manifests.",
		}),
	}
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.passes, m.objects, m.problems, m.success, m.pruned}
}

func (m *metrics) set(s Status) {
	m.objects.Set(float64(s.Applied))
	m.problems.Set(float64(len(s.Problems)))
	m.pruned.Add(float64(s.Pruned))
	if len(s.Problems) > 0 {
		m.passes.WithLabelValues("failure").Inc()
		return
	}
	m.passes.WithLabelValues("success").Inc()
	m.success.Set(float64(s.Time.UnixNano()) / 1e9)
}
