package metrics

import "github.com/prometheus/client_golang/prometheus"

// RegisterDisabled adds how many metrics are not served: disabled ones by
// --disabled-metrics. None is hidden, as those of kube-apiserver before they are removed.
func (r *Registry) RegisterDisabled(disabled int) {
	count := func(name, help string, n int) prometheus.Collector {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		c.Add(float64(n))
		return c
	}
	r.MustRegister(
		count("disabled_metrics_total", "Metrics that are switched off.", disabled),
		count("hidden_metrics_total", "Metrics that are hidden before they are removed.", 0),
	)
}
