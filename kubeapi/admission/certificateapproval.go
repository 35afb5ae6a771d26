package admission

import (
	"context"

	"triplane.dev/generic/guard/admission"
)

// certificateApproval rejects approval of a certificate signing request by users who may not "approve" for its
// signer.
//
// Options: none. Metrics: none. Order: any.
type certificateApproval struct {
	operations
	signers signerCheck
}

func newCertificateApproval(d *Dependencies) admission.Interface {
	return &certificateApproval{operations{admission.Update}, signerCheck{d.Authorizer}}
}

// Validate implements admission.ValidatingInterface.
func (p *certificateApproval) Validate(ctx context.Context, a *admission.Attributes) error {
	// The signer is that of the stored request, because a client could send another one.
	old, _ := requestsOf(a, "approval")
	if old == nil || p.signers.allows(ctx, a, "approve", old.Spec.SignerName) {
		return nil
	}
	return admission.Forbiddenf(a, "user not permitted to approve requests with signerName %q", old.Spec.SignerName)
}
