package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"triplane.dev/generic/base/request"
)

// Prefixes of audit annotations about a server's certificate; the host name follows. See
// https://kubernetes.io/docs/reference/labels-annotations-taints/audit-annotations/.
const (
	missingSAN = "missing-san.invalid-cert.kubernetes.io/"
	sha1Signed = "insecure-sha1.invalid-cert.kubernetes.io/"
)

// CheckCertificates returns a transport that counts servers with a certificate of a deprecated kind. It also
// annotates the audit event of the request that caused the connection. It rejects no certificate: package
// crypto/tls does, if certificates are verified.
func CheckCertificates(t http.RoundTripper, m *CertificateMetrics) http.RoundTripper {
	return checked{t, m}
}

type checked struct {
	http.RoundTripper
	metrics *CertificateMetrics
}

// RoundTrip implements http.RoundTripper.
func (c checked) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(r)
	var verification *tls.CertificateVerificationError
	switch {
	case errors.As(err, &verification):
		var name x509.HostnameError
		c.found(r.Context(), r.URL.Hostname(), errors.As(verification.Err, &name) && !hasSAN(name.Certificate),
			refusedSHA1(verification))
	case err == nil && response.TLS != nil && len(response.TLS.PeerCertificates) > 0:
		leaf := response.TLS.PeerCertificates[0]
		c.found(r.Context(), r.URL.Hostname(), !hasSAN(leaf), bySHA1(leaf))
	}
	return response, err
}

// WrappedRoundTripper gives callers access to the transport, to close its idle connections.
func (c checked) WrappedRoundTripper() http.RoundTripper { return c.RoundTripper }

func (c checked) found(ctx context.Context, host string, noSAN, sha1 bool) {
	if noSAN {
		c.metrics.noSAN()
		request.Annotate(ctx, missingSAN+host,
			"relies on a legacy Common Name field instead of the SAN extension for subject validation")
	}
	if sha1 {
		c.metrics.signedSHA1()
		request.Annotate(ctx, sha1Signed+host, "uses an insecure SHA-1 signature")
	}
}

func hasSAN(c *x509.Certificate) bool {
	return len(c.DNSNames)+len(c.IPAddresses)+len(c.URIs)+len(c.EmailAddresses) > 0
}

// bySHA1 reports whether another certificate signed this one with SHA-1.
func bySHA1(c *x509.Certificate) bool {
	switch c.SignatureAlgorithm {
	case x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1:
		return string(c.RawIssuer) != string(c.RawSubject)
	}
	return false
}

// refusedSHA1 reports whether verification failed because of a SHA-1 signature. Only the text of the error has
// this information.
func refusedSHA1(err *tls.CertificateVerificationError) bool {
	for _, c := range err.UnverifiedCertificates {
		if bySHA1(c) && strings.Contains(err.Error(), x509.InsecureAlgorithmError(c.SignatureAlgorithm).Error()) {
			return true
		}
	}
	return false
}
