package certificates

import (
	"cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/api/kind"
)

// formerRequests are the requests of the beta, which could leave out more.
func formerRequests() []kind.Version[*csr] {
	out := kind.SameFields[*csr]("v1beta1")
	out[0].Default = kind.DefaultOf(func(r *csr) {
		r.Spec.SignerName = cmp.Or(r.Spec.SignerName, legacySigner)
		if len(r.Spec.Usages) == 0 {
			r.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment}
		}
		for i := range r.Status.Conditions {
			c := &r.Status.Conditions[i]
			c.Status = cmp.Or(c.Status, corev1.ConditionTrue)
		}
	})
	return out
}
