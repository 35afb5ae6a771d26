package admission

import (
	"bytes"
	"context"

	"k8s.io/apimachinery/pkg/api/equality"

	"triplane.dev/generic/guard/admission"
)

// certificateSigning rejects changes of certificate and conditions in a request's status by users who may not
// "sign" for its signer.
//
// Options: none. Metrics: none. Order: any.
type certificateSigning struct {
	operations
	signers signerCheck
}

func newCertificateSigning(d *Dependencies) admission.Interface {
	return &certificateSigning{operations{admission.Update}, signerCheck{d.Authorizer}}
}

// Validate implements admission.ValidatingInterface.
func (p *certificateSigning) Validate(ctx context.Context, a *admission.Attributes) error {
	old, csr := requestsOf(a, "status")
	if old == nil || csr == nil {
		return nil
	}
	if bytes.Equal(old.Status.Certificate, csr.Status.Certificate) &&
		equality.Semantic.DeepEqual(old.Status.Conditions, csr.Status.Conditions) {
		return nil
	}
	if p.signers.allows(ctx, a, "sign", old.Spec.SignerName) {
		return nil
	}
	return admission.Forbiddenf(a, "user not permitted to sign requests with signerName %q", old.Spec.SignerName)
}
