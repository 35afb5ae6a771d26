package admission

import (
	"context"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/check"
)

// certificateSubject rejects requests for client certificates of the API server with the group system:masters,
// because certificates cannot be revoked.
//
// Options: none. Metrics: none. Order: any.
type certificateSubject struct{ operations }

func newCertificateSubject(_ *Dependencies) admission.Interface {
	return &certificateSubject{operations{admission.Create}}
}

const mastersGroup = "system:masters"

// Validate implements admission.ValidatingInterface.
func (p *certificateSubject) Validate(_ context.Context, a *admission.Attributes) error {
	_, csr := requestsOf(a, "")
	if csr == nil || csr.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return nil
	}
	request, err := check.ParseCertificateRequest(csr.Spec.Request)
	if err != nil {
		return admission.Forbiddenf(a, "failed to parse CSR: %w", err)
	}
	if slices.Contains(request.Subject.Organization, mastersGroup) {
		return admission.Forbiddenf(a, "use of %s signer with %s group is not allowed",
			certificatesv1.KubeAPIServerClientSignerName, mastersGroup)
	}
	return nil
}
