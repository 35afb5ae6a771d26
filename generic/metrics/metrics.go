// Package metrics holds the server's Prometheus metrics, named and labelled as
// kube-apiserver's are. Nothing is global: each server has a Registry.
//
// What the rooms count themselves (storage, caches) they register with
// GaugeFunc and CounterFunc, which cost nothing until somebody scrapes.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Registry is the metrics of one server. Further collectors are registered with
// MustRegister.
type Registry struct {
	*prometheus.Registry
	// Requests counts what the filter chain sees.
	Requests *Requests
	// Auth counts authentication and authorization.
	Auth *Auth
	// Audit counts audit events.
	Audit *Audit
}

// New returns a registry with all of the server's metrics in it, and those of
// the Go runtime and the process.
func New() *Registry {
	r := &Registry{Registry: prometheus.NewRegistry()}
	r.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsMemory, collectors.MetricsGC)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	r.Requests = newRequests(r.Registry)
	r.Auth = newAuth(r.Registry)
	r.Audit = newAudit(r.Registry)
	return r
}

// GaugeFunc registers a gauge that is read when scraped. read must be safe to
// call at any time from any goroutine.
func (r *Registry) GaugeFunc(name, help string, labels map[string]string, read func() float64) error {
	return r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, read))
}

// CounterFunc registers a counter that is read when scraped; read must never
// return less than before.
func (r *Registry) CounterFunc(name, help string, labels map[string]string, read func() float64) error {
	return r.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, read))
}
