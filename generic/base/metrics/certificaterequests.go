package metrics

import "github.com/prometheus/client_golang/prometheus"

// CertificateRequests counts issued CertificateSigningRequests with a requested duration. A nil
// CertificateRequests counts nothing.
type CertificateRequests struct{ requested, honored *prometheus.CounterVec }

func newCertificateRequests(r prometheus.Registerer) *CertificateRequests {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_certificates_registry_csr_" + name,
			Help: help + ", by signer; those of others than kubernetes.io are one."}, []string{"signerName"})
	}
	m := &CertificateRequests{
		requested: counter("requested_duration_total", "Issued certificate signing requests with a requested duration"),
		honored: counter("honored_duration_total",
			"Issued certificate signing requests whose requested duration was honored"),
	}
	r.MustRegister(m.requested, m.honored)
	return m
}

// Issued counts a certificate. The caller limits the number of signers.
func (m *CertificateRequests) Issued(signer string, honored bool) {
	if m == nil {
		return
	}
	m.requested.WithLabelValues(signer).Inc()
	if honored {
		m.honored.WithLabelValues(signer).Inc()
	}
}
