package certificates

import (
	certificatesv1 "k8s.io/api/certificates/v1"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

var v1 = certificatesv1.SchemeGroupVersion

type csr = certificatesv1.CertificateSigningRequest

// Group builds certificates.k8s.io.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, certificatesv1.GroupName, "v1", "v1beta1", "v1alpha1")
	group.Add(b, signingRequestKind(newRequestMetrics(d.Metrics)))
	group.AddGated(b, gateTrustBundle, trustBundleKind())
	group.AddGated(b, gatePodCertificate, podRequestKind())
	return b.Info()
}
