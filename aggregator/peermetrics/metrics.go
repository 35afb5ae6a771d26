package peermetrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/base/metrics"
)

// Metrics counts requests that are proxied to peers, and discovery of peers. A nil Metrics counts nothing.
type Metrics struct {
	rerouted, failed  *prometheus.CounterVec
	own, hits, misses prometheus.Counter
}

// New registers the metrics. It returns nil if nothing is gathered.
func New(r *metrics.Registry) *Metrics {
	if !r.Gathers() {
		return nil
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &Metrics{
		rerouted: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_rerouted_request_total",
			Help: "Requests that were proxied to a peer because this server does not serve the resource."},
			[]string{"code", "group", "version", "resource"}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_peer_discovery_sync_errors_total",
			Help: "Failures to learn what a peer serves, by what failed."}, []string{"type"}),
		own: counter("aggregator_discovery_nopeer_requests_total", "Requests for the discovery of this server alone."),
		hits: counter("aggregator_discovery_peer_aggregated_cache_hits_total",
			"Requests for the discovery of all servers that were served from the cache."),
		misses: counter("aggregator_discovery_peer_aggregated_cache_misses_total",
			"Times that the discovery of all servers was built."),
	}
	r.FollowResources(m.rerouted.MetricVec)
	r.MustRegister(m.rerouted, m.failed, m.own, m.hits, m.misses)
	return m
}

// Proxied counts a proxied request.
func (m *Metrics) Proxied(group, version, resource string, code int) {
	if m != nil {
		m.rerouted.WithLabelValues(strconv.Itoa(code), group, version, resource).Inc()
	}
}

// SyncFailed counts a failure to read what a peer serves.
func (m *Metrics) SyncFailed(what string) {
	if m != nil {
		m.failed.WithLabelValues(what).Inc()
	}
}

// OwnDiscovery counts a request for the discovery of this server alone.
func (m *Metrics) OwnDiscovery() {
	if m != nil {
		m.own.Inc()
	}
}

// AggregatedDiscovery counts a request for the discovery of all servers. kept is whether the cache had it.
func (m *Metrics) AggregatedDiscovery(kept bool) {
	switch {
	case m == nil:
	case kept:
		m.hits.Inc()
	default:
		m.misses.Inc()
	}
}
