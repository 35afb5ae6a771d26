package metrics

import "github.com/prometheus/client_golang/prometheus"

// Certificates counts servers with a certificate of a deprecated kind. A nil Certificates counts nothing.
type Certificates struct{ missingSAN, sha1 prometheus.Counter }

// newCertificates registers metrics whose names begin with prefix.
func newCertificates(r prometheus.Registerer, prefix string) *Certificates {
	m := &Certificates{
		missingSAN: prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "_x509_missing_san_total",
			Help: "Requests to servers whose certificate has no subject alternative name."}),
		sha1: prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "_x509_insecure_sha1_total",
			Help: "Requests to servers whose certificate is signed with SHA-1."}),
	}
	r.MustRegister(m.missingSAN, m.sha1)
	return m
}

// MissingSAN counts a certificate without subject alternative names.
func (m *Certificates) MissingSAN() {
	if m != nil {
		m.missingSAN.Inc()
	}
}

// SHA1 counts a certificate with a SHA-1 signature.
func (m *Certificates) SHA1() {
	if m != nil {
		m.sha1.Inc()
	}
}
