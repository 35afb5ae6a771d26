package certificates

import (
	"context"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certutil "k8s.io/client-go/util/cert"
)

// durationTolerance is by how much a certificate's life may differ from what was requested, besides 5% of that:
// signers backdate certificates.
const durationTolerance = 5 * time.Minute

// countIssued returns a BeginUpdate that counts requests with a duration when their certificate is stored.
func countIssued(m *requestMetrics) func(context.Context, *csr, *csr,
	bool) (func(context.Context, bool), error) {
	return func(_ context.Context, r, old *csr, dryRun bool) (func(context.Context, bool), error) {
		if dryRun || r.Spec.ExpirationSeconds == nil || len(old.Status.Certificate) > 0 || len(r.Status.Certificate) == 0 {
			return nil, nil
		}
		signer, honored := signerLabel(r.Spec.SignerName), honorsDuration(r)
		return func(_ context.Context, ok bool) {
			if ok {
				m.issued(signer, honored)
			}
		}, nil
	}
}

// honorsDuration reports whether the certificate lives about as long as was requested.
func honorsDuration(r *csr) bool {
	certs, err := certutil.ParseCertsPEM(r.Status.Certificate)
	if err != nil {
		return false
	}
	requested := time.Duration(*r.Spec.ExpirationSeconds) * time.Second
	issued := certs[0].NotAfter.Sub(certs[0].NotBefore)
	return (issued - requested).Abs() <= requested/20+durationTolerance
}

// signerLabel bounds the signers that are told apart.
func signerLabel(name string) string {
	switch name {
	case certificatesv1.KubeAPIServerClientSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName,
		certificatesv1.KubeletServingSignerName, legacySigner:
		return name
	}
	return "other"
}
