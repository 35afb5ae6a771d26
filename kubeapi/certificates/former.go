package certificates

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/api/kind"
)

// formerRequests are the requests of the beta, which could leave out more.
func formerRequests() []kind.Version[*csr] {
	out := kind.SameFields[*csr]("v1beta1")
	out[0].Default = kind.DefaultOf(func(r *csr) {
		if r.Spec.SignerName == "" {
			r.Spec.SignerName = legacySigner
		}
		if len(r.Spec.Usages) == 0 {
			r.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment}
		}
		for i := range r.Status.Conditions {
			if c := &r.Status.Conditions[i]; c.Status == "" {
				c.Status = corev1.ConditionTrue
			}
		}
	})
	return out
}
