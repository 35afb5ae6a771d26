package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
)

var csrs = certificatesv1.Resource("certificatesigningrequests")

const (
	nodesGroup     = "system:nodes"
	nodeUserPrefix = "system:node:"
)

// parse reads the request that a CSR holds.
func parse(csr *certificatesv1.CertificateSigningRequest) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(csr.Spec.Request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	r, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	return r, r.CheckSignature()
}

// condition returns the condition of a type, nil if there is none.
func condition(csr *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequestCondition {
	for i := range csr.Status.Conditions {
		if csr.Status.Conditions[i].Type == t {
			return &csr.Status.Conditions[i]
		}
	}
	return nil
}

func approved(csr *certificatesv1.CertificateSigningRequest) bool {
	return condition(csr, certificatesv1.CertificateApproved) != nil && condition(csr, certificatesv1.CertificateDenied) == nil
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
	return only(usages, certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment)
}

// kubeletServing validates a request for the serving certificate of a kubelet.
func kubeletServing(r *x509.CertificateRequest, usages []certificatesv1.KeyUsage, user string) error {
	switch {
	case !slices.Equal(r.Subject.Organization, []string{nodesGroup}):
		return fmt.Errorf("subject organization is not %s", nodesGroup)
	case !strings.HasPrefix(r.Subject.CommonName, nodeUserPrefix) || r.Subject.CommonName != user:
		return errors.New("subject common name is not the node that asks")
	case len(r.DNSNames)+len(r.IPAddresses) == 0:
		return errors.New("at least one DNS or IP subject alternative name is required")
	case len(r.EmailAddresses)+len(r.URIs) > 0:
		return errors.New("email and URI subject alternative names are not allowed")
	}
	return only(usages, certificatesv1.UsageServerAuth, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment)
}

// apiClient validates a request for a client certificate of the API server.
func apiClient(usages []certificatesv1.KeyUsage) error {
	return only(usages, certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment)
}

// only wants the first usage, and none but the given ones.
func only(usages []certificatesv1.KeyUsage, required certificatesv1.KeyUsage, allowed ...certificatesv1.KeyUsage) error {
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

// validate validates a request by the rules of its signer. known is false for
// signers that are somebody else's.
func validate(csr *certificatesv1.CertificateSigningRequest, r *x509.CertificateRequest) (known bool, err error) {
	switch csr.Spec.SignerName {
	case certificatesv1.KubeAPIServerClientSignerName:
		return true, apiClient(csr.Spec.Usages)
	case certificatesv1.KubeAPIServerClientKubeletSignerName:
		return true, kubeletClient(r, csr.Spec.Usages)
	case certificatesv1.KubeletServingSignerName:
		return true, kubeletServing(r, csr.Spec.Usages, csr.Spec.Username)
	case legacySigner:
		return true, nil
	}
	return false, nil
}

const legacySigner = "kubernetes.io/legacy-unknown"

var conditionTrue = corev1.ConditionTrue
