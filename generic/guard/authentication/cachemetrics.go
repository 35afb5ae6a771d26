package authentication

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TokenCacheMetrics has the metrics of token caches. A nil TokenCacheMetrics counts nothing.
type TokenCacheMetrics struct {
	hit, miss, fetched, failed prometheus.Counter
	hitTook, missTook          prometheus.Observer
	fetching                   prometheus.Gauge
}

// NewTokenCacheMetrics registers the metrics.
func NewTokenCacheMetrics(r prometheus.Registerer) *TokenCacheMetrics {
	const name = "authentication_token_cache_"
	status := []string{"status"}
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name + "request_total",
		Help: "Lookups of tokens, by whether the cache had them."}, status)
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name + "request_duration_seconds",
		Buckets: prometheus.DefBuckets,
		Help:    "Seconds that lookups of tokens took, by whether the cache had them."}, status)
	fetched := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name + "fetch_total",
		Help: "Calls of the authenticator behind the cache, by result."}, status)
	fetching := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name + "active_fetch_count",
		Help: "Calls in progress of the authenticator behind the cache."}, status)
	r.MustRegister(requests, took, fetched, fetching)
	return &TokenCacheMetrics{
		hit: requests.WithLabelValues("hit"), miss: requests.WithLabelValues("miss"),
		hitTook: took.WithLabelValues("hit"), missTook: took.WithLabelValues("miss"),
		fetched: fetched.WithLabelValues("ok"), failed: fetched.WithLabelValues("error"),
		fetching: fetching.WithLabelValues("in_flight"),
	}
}

// Requested counts a token that was looked up.
func (m *TokenCacheMetrics) Requested(hit bool, took time.Duration) {
	if hit {
		m.hit.Inc()
		m.hitTook.Observe(took.Seconds())
		return
	}
	m.miss.Inc()
	m.missTook.Observe(took.Seconds())
}

// Fetching counts a call of the inner authenticator. The returned function must be called with its result.
func (m *TokenCacheMetrics) Fetching() func(error) {
	m.fetching.Inc()
	return func(err error) {
		m.fetching.Dec()
		if err != nil {
			m.failed.Inc()
			return
		}
		m.fetched.Inc()
	}
}
