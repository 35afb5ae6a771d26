package serviceaccount

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts the use of tokens. A nil Metrics counts nothing.
type Metrics struct {
	legacy, automatic, manual, invalid prometheus.Counter
	valid, stale                       prometheus.Counter
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "serviceaccount_" + name, Help: help})
		registry.MustRegister(c)
		return c
	}
	return &Metrics{
		legacy: counter("legacy_tokens_total", "Uses of tokens that are stored in Secrets."),
		automatic: counter("legacy_auto_token_uses_total",
			"Uses of tokens in Secrets that were generated automatically for service accounts."),
		manual:  counter("legacy_manual_token_uses_total", "Uses of tokens in Secrets that users created."),
		invalid: counter("invalid_legacy_auto_token_uses_total", "Uses of tokens in Secrets that are marked invalid."),
		valid:   counter("valid_tokens_total", "Uses of bound tokens within the requested lifetime."),
		stale:   counter("stale_tokens_total", "Uses of bound tokens after the requested lifetime."),
	}
}

func (m *Metrics) legacyInvalid() {
	if m != nil {
		m.invalid.Inc()
	}
}

func (m *Metrics) legacyUsed(automatic bool) {
	switch {
	case m == nil:
		return
	case automatic:
		m.automatic.Inc()
	default:
		m.manual.Inc()
	}
	m.legacy.Inc()
}

func (m *Metrics) boundUsed(stale bool) {
	switch {
	case m == nil:
	case stale:
		m.stale.Inc()
	default:
		m.valid.Inc()
	}
}
