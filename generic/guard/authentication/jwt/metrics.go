package jwt

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/base/configfile"
)

// Metrics measures JWT authenticators by configured issuer, never by a value from a token. A nil Metrics
// measures nothing.
type Metrics struct {
	server  string
	latency *prometheus.HistogramVec
	fetched *prometheus.GaugeVec
	keys    *prometheus.GaugeVec
}

// NewMetrics registers the metrics. serverID is the identity of the API server.
func NewMetrics(registry prometheus.Registerer, serverID string) *Metrics {
	const prefix = "apiserver_authentication_jwt_authenticator_"
	m := &Metrics{
		server: configfile.Hash([]byte(serverID)),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + "latency_seconds",
			Help:    "Seconds that the authentication of a token took, by result and hash of the issuer.",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}, []string{"result", "jwt_issuer_hash"}),
		fetched: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "jwks_fetch_last_timestamp_seconds",
			Help: "Unix time of the last fetch of an issuer's keys, by result."},
			[]string{"result", "jwt_issuer_hash", "apiserver_id_hash"}),
		keys: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "jwks_fetch_last_key_set_info",
			Help: "1, with the hash of the issuer's keys fetched last as a label."},
			[]string{"jwt_issuer_hash", "apiserver_id_hash", "hash"}),
	}
	registry.MustRegister(m.latency, m.fetched, m.keys)
	return m
}

// issuer returns the metrics of one issuer.
func (m *Metrics) issuer(url string) *issuerMetrics {
	if m == nil {
		return nil
	}
	return &issuerMetrics{m, configfile.Hash([]byte(url))}
}

// deleteSeries deletes the series of issuers that are no longer configured.
func (m *Metrics) deleteSeries(removed []string) {
	if m == nil {
		return
	}
	for _, url := range removed {
		labels := prometheus.Labels{"jwt_issuer_hash": configfile.Hash([]byte(url))}
		m.latency.DeletePartialMatch(labels)
		m.fetched.DeletePartialMatch(labels)
		m.keys.DeletePartialMatch(labels)
	}
}

type issuerMetrics struct {
	*Metrics
	hash string
}

func result(ok bool) string {
	if ok {
		return "success"
	}
	return "failure"
}

func (m *issuerMetrics) authenticated(err error, took time.Duration) {
	if m != nil {
		m.latency.WithLabelValues(result(err == nil), m.hash).Observe(took.Seconds())
	}
}

func (m *issuerMetrics) fetched(ok bool, body []byte) {
	if m == nil {
		return
	}
	m.Metrics.fetched.WithLabelValues(result(ok), m.hash, m.server).SetToCurrentTime()
	if ok {
		m.keys.DeletePartialMatch(prometheus.Labels{"jwt_issuer_hash": m.hash})
		m.keys.WithLabelValues(m.hash, m.server, configfile.Hash(body)).Set(1)
	}
}
