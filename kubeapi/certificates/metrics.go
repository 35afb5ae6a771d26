package certificates

import (
	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/base/metrics"
)

// requestMetrics counts issued CertificateSigningRequests with a requested duration. A nil
// requestMetrics counts nothing.
type requestMetrics struct{ requested, honored *prometheus.CounterVec }

// newRequestMetrics registers the metrics. It returns nil for a nil registry.
func newRequestMetrics(r *metrics.Registry) *requestMetrics {
	if r == nil {
		return nil
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_certificates_registry_csr_" + name,
			Help: help + ", by signer; those of others than kubernetes.io are one."}, []string{"signerName"})
	}
	m := &requestMetrics{
		requested: counter("requested_duration_total", "Issued certificate signing requests with a requested duration"),
		honored: counter("honored_duration_total",
			"Issued certificate signing requests whose requested duration was honored"),
	}
	r.MustRegister(m.requested, m.honored)
	return m
}

// issued counts a certificate. The caller limits the number of signers.
func (m *requestMetrics) issued(signer string, honored bool) {
	if m == nil {
		return
	}
	m.requested.WithLabelValues(signer).Inc()
	if honored {
		m.honored.WithLabelValues(signer).Inc()
	}
}
