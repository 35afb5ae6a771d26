package healthz

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// SLIs are the service level indicators of /metrics/slis (KEP 3466): the results of health checks. Nil notes nothing.
type SLIs struct {
	registry *prometheus.Registry
	last     *prometheus.GaugeVec   // 1 if the check passed the last time
	results  *prometheus.CounterVec // by status
}

// NewSLIs returns indicators without results.
func NewSLIs() *SLIs {
	s := &SLIs{
		registry: prometheus.NewRegistry(),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kubernetes_healthcheck",
			Help: "[STABLE] This metric records the result of a single healthcheck.",
		}, []string{"name", "type"}),
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubernetes_healthchecks_total",
			Help: "[STABLE] This metric records the results of all healthcheck.",
		}, []string{"name", "status", "type"}),
	}
	s.registry.MustRegister(s.last, s.results, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return s
}

// note records the result of a check of an endpoint such as readyz.
func (s *SLIs) note(endpoint, check string, err error) {
	if s == nil {
		return
	}
	passed, status := 1.0, "success"
	if err != nil {
		passed, status = 0, "error"
	}
	s.last.WithLabelValues(check, endpoint).Set(passed)
	s.results.WithLabelValues(check, status, endpoint).Inc()
}

// Handler serves the indicators as metrics.
func (s *SLIs) Handler() http.Handler {
	return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{})
}
