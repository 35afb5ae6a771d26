package admission

import (
	"context"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/guard/admission"
)

// signerCheck authorizes a user for a signer, or for all signers of its domain ("example.com/*").
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

// requestsOf returns the old and the new certificate signing request; nil for other resources and subresources.
func requestsOf(a *admission.Attributes, subresource string) (old, csr *certificatesv1.CertificateSigningRequest) {
	if a.Resource.Group != certificatesv1.GroupName || a.Resource.Resource != "certificatesigningrequests" ||
		a.Subresource != subresource {
		return nil, nil
	}
	old, _ = a.OldObject.(*certificatesv1.CertificateSigningRequest)
	csr, _ = a.Object.(*certificatesv1.CertificateSigningRequest)
	return old, csr
}
