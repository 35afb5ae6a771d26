package egress

import (
	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/base/metrics"
)

// CertificateMetrics counts servers with a certificate of a deprecated kind. A nil CertificateMetrics counts nothing.
type CertificateMetrics struct{ missingSAN, sha1 prometheus.Counter }

// NewWebhookCertificateMetrics returns the metrics of webhooks' certificates, which all callers of webhooks share.
// It returns nil if nothing is gathered.
func NewWebhookCertificateMetrics(r *metrics.Registry) *CertificateMetrics {
	return newCertificateMetrics(r, "apiserver_webhooks")
}

// NewAggregatorCertificateMetrics returns the metrics of the certificates of external API servers.
func NewAggregatorCertificateMetrics(r *metrics.Registry) *CertificateMetrics {
	return newCertificateMetrics(r, "apiserver_kube_aggregator")
}

// newCertificateMetrics registers metrics whose names begin with prefix, unless they are registered.
func newCertificateMetrics(r *metrics.Registry, prefix string) *CertificateMetrics {
	if !r.Gathers() {
		return nil
	}
	return &CertificateMetrics{
		missingSAN: metrics.Shared(r, prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "_x509_missing_san_total",
			Help: "Requests to servers whose certificate has no subject alternative name."})),
		sha1: metrics.Shared(r, prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "_x509_insecure_sha1_total",
			Help: "Requests to servers whose certificate is signed with SHA-1."})),
	}
}

// noSAN counts a certificate without subject alternative names.
func (m *CertificateMetrics) noSAN() {
	if m != nil {
		m.missingSAN.Inc()
	}
}

// signedSHA1 counts a certificate with a SHA-1 signature.
func (m *CertificateMetrics) signedSHA1() {
	if m != nil {
		m.sha1.Inc()
	}
}
