package certificates

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/api/registry"
	"triplane/generic/serve/server"
	"triplane/kubeapi/group"
	"triplane/kubeapi/strategy"
)

var v1 = certificatesv1.SchemeGroupVersion

type csr = certificatesv1.CertificateSigningRequest

// Group builds certificates.k8s.io.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, certificatesv1.GroupName, "v1", "v1beta1", "v1alpha1")
	if store := group.Add(b, signingRequestKind(d.CertificateRequests)); store != nil {
		b.Resource("certificatesigningrequests/approval", store.Subresource(&registry.StatusSubresource[*csr]{
			PrepareForUpdate: prepareApproval,
			ValidateUpdate: func(_ context.Context, r, old *csr) field.ErrorList {
				return validateUpdate(r, old)
			},
			ResetFields: strategy.Reset(v1, "spec", "status.certificate"),
			NoTable:     true,
		}))
	}
	group.AddGated(b, gateTrustBundle, trustBundleKind())
	group.AddGated(b, gatePodCertificate, podRequestKind())
	return b.Info()
}
