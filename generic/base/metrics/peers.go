package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Peers counts requests that are proxied to peers, and discovery of peers.
type Peers struct {
	rerouted, failed  *prometheus.CounterVec
	own, hits, misses prometheus.Counter
}

func newPeers(r prometheus.Registerer) *Peers {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &Peers{
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
	r.MustRegister(m.rerouted, m.failed, m.own, m.hits, m.misses)
	return m
}

// Rerouted counts a proxied request.
func (m *Peers) Rerouted(group, version, resource string, code int) {
	m.rerouted.WithLabelValues(strconv.Itoa(code), group, version, resource).Inc()
}

// Failed counts a failure to read what a peer serves.
func (m *Peers) Failed(what string) { m.failed.WithLabelValues(what).Inc() }

// Own counts a request for the discovery of this server alone.
func (m *Peers) Own() { m.own.Inc() }

// Aggregated counts a request for the discovery of all servers. kept is whether the cache had it.
func (m *Peers) Aggregated(kept bool) {
	if kept {
		m.hits.Inc()
	} else {
		m.misses.Inc()
	}
}
