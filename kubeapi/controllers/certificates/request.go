package certificates

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"triplane.dev/kubeapi/check"
)

const (
	nodesGroup     = "system:nodes"
	nodeUserPrefix = "system:node:"
)

// condition returns the condition of a type, nil if there is none.
func condition(
	csr *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType,
) *certificatesv1.CertificateSigningRequestCondition {
	for i := range csr.Status.Conditions {
		if csr.Status.Conditions[i].Type == t {
			return &csr.Status.Conditions[i]
		}
	}
	return nil
}

func approved(csr *certificatesv1.CertificateSigningRequest) bool {
	return condition(csr, certificatesv1.CertificateApproved) != nil &&
		condition(csr, certificatesv1.CertificateDenied) == nil
}

// kubeletClient validates a request for the client certificate of a kubelet.
func kubeletClient(r *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	switch {
	case !slices.Equal(r.Subject.Organization, []string{nodesGroup}):
		return fmt.Errorf("subject organization is not %s", nodesGroup)
	case !strings.HasPrefix(r.Subject.CommonName, nodeUserPrefix):
		return fmt.Errorf("subject common name does not begin with %q", nodeUserPrefix)
	case len(r.DNSNames)+len(r.EmailAddresses)+len(r.IPAddresses)+len(r.URIs) > 0:
		return errors.New("subject alternative names are not allowed")
	}
	return only(usages, certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature,
		certificatesv1.UsageKeyEncipherment)
}

// kubeletServing validates a request for the serving certificate of a kubelet.
func kubeletServing(r *x509.CertificateRequest, usages []certificatesv1.KeyUsage, user string) error {
	switch {
	case !slices.Equal(r.Subject.Organization, []string{nodesGroup}):
		return fmt.Errorf("subject organization is not %s", nodesGroup)
	case !strings.HasPrefix(r.Subject.CommonName, nodeUserPrefix) || r.Subject.CommonName != user:
		return errors.New("subject common name is not the requesting node")
	case len(r.DNSNames)+len(r.IPAddresses) == 0:
		return errors.New("at least one DNS or IP subject alternative name is required")
	case len(r.EmailAddresses)+len(r.URIs) > 0:
		return errors.New("email and URI subject alternative names are not allowed")
	}
	return only(usages, certificatesv1.UsageServerAuth, certificatesv1.UsageDigitalSignature,
		certificatesv1.UsageKeyEncipherment)
}

// apiClient validates a request for a client certificate of the API server.
func apiClient(usages []certificatesv1.KeyUsage) error {
	return only(usages, certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature,
		certificatesv1.UsageKeyEncipherment)
}

// only requires the first usage, and rejects all but it and the allowed ones.
func only(
	usages []certificatesv1.KeyUsage, required certificatesv1.KeyUsage, allowed ...certificatesv1.KeyUsage,
) error {
	if !slices.Contains(usages, required) {
		return fmt.Errorf("usage %q is missing", required)
	}
	for _, u := range usages {
		if u != required && !slices.Contains(allowed, u) {
			return fmt.Errorf("usage %q is not allowed", u)
		}
	}
	return nil
}

// signs reports whether this controller signs certificates for a signer.
func signs(signer string) bool {
	switch signer {
	case certificatesv1.KubeAPIServerClientSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName,
		certificatesv1.KubeletServingSignerName, legacySigner:
		return true
	}
	return false
}

// validate parses a request, and validates it by the rules of its signer.
func validate(csr *certificatesv1.CertificateSigningRequest) (*x509.CertificateRequest, error) {
	r, err := check.CertificateRequest(csr.Spec.Request)
	if err != nil {
		return nil, err
	}
	switch csr.Spec.SignerName {
	case certificatesv1.KubeAPIServerClientSignerName:
		err = apiClient(csr.Spec.Usages)
	case certificatesv1.KubeAPIServerClientKubeletSignerName:
		err = kubeletClient(r, csr.Spec.Usages)
	case certificatesv1.KubeletServingSignerName:
		err = kubeletServing(r, csr.Spec.Usages, csr.Spec.Username)
	}
	if err != nil {
		return nil, err
	}
	_, _, err = usages(csr.Spec.Usages)
	return r, err
}

const legacySigner = "kubernetes.io/legacy-unknown"

var conditionTrue = corev1.ConditionTrue
