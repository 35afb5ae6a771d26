// Package certificates declares the kinds of the group certificates.k8s.io:
// CertificateSigningRequest and, where their features are on, ClusterTrustBundle and
// PodCertificateRequest.
//
// Who asks is filled in by the server, and the specification is fixed: neither can
// be forged. Conditions of approval are written through the subresource "approval"
// alone and are never taken back; the certificate is written through "status" and is
// set once. That approving and signing take a permission for the signer is the work
// of admission plugins.
package certificates
