// Package metrics holds the server's Prometheus metrics, named as
// kube-apiserver's are. Nothing is global: each server has a Registry.
package metrics

import "github.com/prometheus/client_golang/prometheus"

// Registry is the metrics of one server.
type Registry struct {
	*prometheus.Registry
}

// New returns a registry with all of the server's metrics in it.
func New() *Registry {
	return &Registry{Registry: prometheus.NewRegistry()}
}
