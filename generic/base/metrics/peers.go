package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Peers counts what is passed on to other servers of the same storage.
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
			Help: "Requests that were passed on to a peer because this server does not serve the resource."}, []string{"code", "group", "version", "resource"}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_peer_discovery_sync_errors_total",
			Help: "Failures to learn what a peer serves, by what failed."}, []string{"type"}),
		own:    counter("aggregator_discovery_nopeer_requests_total", "Requests for the discovery of this server alone."),
		hits:   counter("aggregator_discovery_peer_aggregated_cache_hits_total", "Requests for the discovery of all servers that were answered with what was made before."),
		misses: counter("aggregator_discovery_peer_aggregated_cache_misses_total", "Times that the discovery of all servers was made anew."),
	}
	r.MustRegister(m.rerouted, m.failed, m.own, m.hits, m.misses)
	return m
}

// Rerouted counts a request that was passed on.
func (m *Peers) Rerouted(group, version, resource string, code int) {
	m.rerouted.WithLabelValues(strconv.Itoa(code), group, version, resource).Inc()
}

// Failed counts a failure to learn what a peer serves.
func (m *Peers) Failed(what string) { m.failed.WithLabelValues(what).Inc() }

// Own counts a request for the discovery of this server alone.
func (m *Peers) Own() { m.own.Inc() }

// Aggregated counts a request for the discovery of all servers; kept says that it was made
// before.
func (m *Peers) Aggregated(kept bool) {
	if kept {
		m.hits.Inc()
	} else {
		m.misses.Inc()
	}
}
