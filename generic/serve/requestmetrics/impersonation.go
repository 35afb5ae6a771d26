package requestmetrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Impersonation counts impersonations by the mode that allowed them (KEP-5284), "" for one that none allowed.
type Impersonation struct {
	attempts, authorizations         *prometheus.CounterVec
	attemptsTook, authorizationsTook *prometheus.HistogramVec
}

func newImpersonation(r prometheus.Registerer) *Impersonation {
	labels := []string{"mode", "decision"}
	count := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_impersonation_" + name + "_total",
			Help: help}, labels)
	}
	took := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_impersonation_" + name +
			"_duration_seconds", Help: help,
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)}, labels)
	}
	m := &Impersonation{
		attempts:           count("attempts", "Attempts to impersonate."),
		attemptsTook:       took("attempts", "Seconds that deciding about an attempt to impersonate took."),
		authorizations:     count("authorization_attempts", "Authorization checks of an attempt to impersonate."),
		authorizationsTook: took("authorization_attempts", "Seconds that an authorization check took."),
	}
	r.MustRegister(m.attempts, m.attemptsTook, m.authorizations, m.authorizationsTook)
	return m
}

func decision(allowed bool) string {
	if allowed {
		return "allowed"
	}
	return "denied"
}

// Attempt counts an attempt. It does nothing on nil.
func (m *Impersonation) Attempt(mode string, allowed bool, took time.Duration) {
	if m != nil {
		m.attempts.WithLabelValues(mode, decision(allowed)).Inc()
		m.attemptsTook.WithLabelValues(mode, decision(allowed)).Observe(took.Seconds())
	}
}

// Authorization counts an authorization check of a mode. It does nothing on nil.
func (m *Impersonation) Authorization(mode string, allowed bool, took time.Duration) {
	if m != nil {
		m.authorizations.WithLabelValues(mode, decision(allowed)).Inc()
		m.authorizationsTook.WithLabelValues(mode, decision(allowed)).Observe(took.Seconds())
	}
}
