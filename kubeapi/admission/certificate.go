package admission

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"triplane/generic/admission"
	"triplane/generic/authorization/authorizer"
)

// signerCheck asks whether the user may do something with a signer: with the
// signer itself, or with all of its domain ("example.com/*").
type signerCheck struct{ authz authorizer.Authorizer }

func (s signerCheck) allows(ctx context.Context, a *admission.Attributes, verb, signer string) bool {
	if s.authz == nil {
		return true
	}
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		decision, _, err := s.authz.Authorize(ctx, &authorizer.Attributes{
			User: a.User, Verb: verb, Name: name, ResourceRequest: true,
			APIGroup: certificatesv1.GroupName, APIVersion: "*", Resource: "signers",
		})
		if err == nil && decision == authorizer.Allow {
			return true
		}
	}
	return false
}

// requestsOf returns a certificate signing request as it is and as it is to be,
// nil where a is about something else than the given subresource.
func requestsOf(a *admission.Attributes, subresource string) (old, csr *certificatesv1.CertificateSigningRequest) {
	if a.Resource.Group != certificatesv1.GroupName || a.Resource.Resource != "certificatesigningrequests" || a.Subresource != subresource {
		return nil, nil
	}
	old, _ = a.OldObject.(*certificatesv1.CertificateSigningRequest)
	csr, _ = a.Object.(*certificatesv1.CertificateSigningRequest)
	return old, csr
}

// certificateApproval lets those approve a request who may approve for its
// signer, whatever they may do with requests.
type certificateApproval struct {
	operations
	signers signerCheck
}

// Validate implements admission.ValidatingInterface.
func (p *certificateApproval) Validate(ctx context.Context, a *admission.Attributes) error {
	// The stored request counts: a client might name another signer.
	old, _ := requestsOf(a, "approval")
	if old == nil || p.signers.allows(ctx, a, "approve", old.Spec.SignerName) {
		return nil
	}
	return forbidden(a, "user not permitted to approve requests with signerName %q", old.Spec.SignerName)
}

// certificateSigning lets those issue certificates and set conditions who may
// sign for the request's signer.
type certificateSigning struct {
	operations
	signers signerCheck
}

// Validate implements admission.ValidatingInterface.
func (p *certificateSigning) Validate(ctx context.Context, a *admission.Attributes) error {
	old, csr := requestsOf(a, "status")
	if old == nil || csr == nil {
		return nil
	}
	if bytes.Equal(old.Status.Certificate, csr.Status.Certificate) && equality.Semantic.DeepEqual(old.Status.Conditions, csr.Status.Conditions) {
		return nil
	}
	if p.signers.allows(ctx, a, "sign", old.Spec.SignerName) {
		return nil
	}
	return forbidden(a, "user not permitted to sign requests with signerName %q", old.Spec.SignerName)
}

// certificateSubject keeps system:masters out of certificates of the signer for
// clients of the API server, as such a certificate can never be taken back.
type certificateSubject struct{ operations }

const mastersGroup = "system:masters"

// Validate implements admission.ValidatingInterface.
func (p *certificateSubject) Validate(_ context.Context, a *admission.Attributes) error {
	_, csr := requestsOf(a, "")
	if csr == nil || csr.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return nil
	}
	request, err := parseRequest(csr.Spec.Request)
	if err != nil {
		return forbidden(a, "failed to parse CSR: %w", err)
	}
	if slices.Contains(request.Subject.Organization, mastersGroup) {
		return forbidden(a, "use of %s signer with %s group is not allowed", certificatesv1.KubeAPIServerClientSignerName, mastersGroup)
	}
	return nil
}

func parseRequest(encoded []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(encoded)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("failed to parse certificate request: %w", err)
	}
	return request, nil
}
