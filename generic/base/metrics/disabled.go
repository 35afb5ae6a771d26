package metrics

import "github.com/prometheus/client_golang/prometheus"

// RegisterDisabled registers how many metrics --disabled-metrics disables. The number of hidden metrics is
// always 0.
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
