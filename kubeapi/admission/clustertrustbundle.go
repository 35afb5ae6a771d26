package admission

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"

	"triplane.dev/generic/guard/admission"
)

// clusterTrustBundle rejects trust bundles of a signer by users who may not "attest" for it (KEP-3257).
//
// Options: none. Metrics: none. Order: any.
type clusterTrustBundle struct {
	operations
	signers signerCheck
}

func newClusterTrustBundle(d *Dependencies) admission.Interface {
	return &clusterTrustBundle{operations{admission.Create, admission.Update}, signerCheck{d.Authorizer}}
}

// bundle has the fields of bundles of all versions.
type bundle struct{ signer, trust string }

func bundleOf(obj any) *bundle {
	switch b := obj.(type) {
	case *certificatesv1.ClusterTrustBundle:
		return &bundle{b.Spec.SignerName, b.Spec.TrustBundle}
	}
	return nil
}

// Validate implements admission.ValidatingInterface.
func (p *clusterTrustBundle) Validate(ctx context.Context, a *admission.Attributes) error {
	b, old := bundleOf(a.Object), bundleOf(a.OldObject)
	switch {
	case b == nil || b.signer == "" || a.Subresource != "":
		return nil
	case a.Operation == admission.Update && old != nil && *old == *b:
		return nil // unchanged
	case p.signers.allows(ctx, a, "attest", b.signer):
		return nil
	}
	return admission.Forbiddenf(a, "user not permitted to attest for signerName %q", b.signer)
}
