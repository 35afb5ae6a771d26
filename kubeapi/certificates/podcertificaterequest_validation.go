package certificates

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/kubeapi/check"
)

const (
	maxPublicKey    = 10 * 1024
	maxCertificates = 100 * 1024
)

func validatePodRequest(r *podRequest) field.ErrorList {
	s, path := &r.Spec, field.NewPath("spec")
	errs := check.SignerName(s.SignerName, path.Child("signerName"))
	for _, f := range []struct {
		name, value string
		validate    func(string, bool) []string
	}{
		{"podName", s.PodName, validation.NameIsDNSSubdomain}, {"serviceAccountName", s.ServiceAccountName,
			validation.ValidateServiceAccountName},
		{"nodeName", string(s.NodeName), validation.NameIsDNSSubdomain},
	} {
		errs = append(errs, check.Name(f.validate(f.value, false), f.value, path.Child(f.name))...)
	}
	for _, f := range []struct{ name, uid string }{{"podUID", string(s.PodUID)},
		{"serviceAccountUID", string(s.ServiceAccountUID)}, {"nodeUID", string(s.NodeUID)}} {
		if f.uid == "" {
			errs = append(errs, field.Required(path.Child(f.name), "must not be empty"))
		} else if len(f.uid) > 128 {
			errs = append(errs, field.TooLong(path.Child(f.name), "", 128))
		}
	}
	errs = append(errs, validateLifetime(s, path.Child("maxExpirationSeconds"))...)
	errs = append(errs, validation.ValidateAnnotations(s.UnverifiedUserAnnotations,
		path.Child("unverifiedUserAnnotations"))...)
	for key := range s.UnverifiedUserAnnotations {
		if !strings.Contains(key, "/") {
			errs = append(errs, field.Invalid(path.Child("unverifiedUserAnnotations"), key, "key must be domain-prefixed"))
		}
	}
	return append(errs, validateKey(s, path)...)
}

func validateLifetime(s *certificatesv1beta1.PodCertificateRequestSpec, path *field.Path) field.ErrorList {
	most := mostSeconds
	if strings.HasPrefix(s.SignerName, "kubernetes.io/") {
		most = dayOfSeconds
	}
	if n := ptr.Deref(s.MaxExpirationSeconds, 0); s.MaxExpirationSeconds == nil {
		return field.ErrorList{field.Required(path, "must be set")}
	} else if n < leastSeconds || n > most {
		return field.ErrorList{field.Invalid(path, n,
			"must be in the range of an hour to the longest lifetime of the signer")}
	}
	return nil
}

// validateKey requires proof that the client has the private key: a certificate signing
// request, or the UID of the pod with a signature.
func validateKey(s *certificatesv1beta1.PodCertificateRequestSpec, path *field.Path) field.ErrorList {
	if len(s.StubPKCS10Request) > 0 {
		stub := path.Child("stubPKCS10Request")
		if len(s.PKIXPublicKey) > 0 || len(s.ProofOfPossession) > 0 {
			return field.ErrorList{field.Invalid(path, "",
				"pkixPublicKey and proofOfPossession must be empty where stubPKCS10Request is set")}
		}
		if len(s.StubPKCS10Request) > maxPublicKey {
			return field.ErrorList{field.TooLong(stub, "", maxPublicKey)}
		}
		request, err := x509.ParseCertificateRequest(s.StubPKCS10Request)
		if err != nil {
			return field.ErrorList{field.Invalid(stub, "<value omitted>", "must be a valid PKCS#10 request")}
		}
		if err := request.CheckSignature(); err != nil {
			return field.ErrorList{field.Invalid(stub, "<value omitted>", "signature does not match the public key")}
		}
		return validateKeyType(request.PublicKey, stub)
	}
	keyPath, proof := path.Child("pkixPublicKey"), path.Child("proofOfPossession")
	switch {
	case len(s.PKIXPublicKey) == 0:
		return field.ErrorList{field.Required(path.Child("stubPKCS10Request"), "must be set")}
	case len(s.PKIXPublicKey) > maxPublicKey:
		return field.ErrorList{field.TooLong(keyPath, "", maxPublicKey)}
	case len(s.ProofOfPossession) > maxPublicKey:
		return field.ErrorList{field.TooLong(proof, "", maxPublicKey)}
	}
	key, err := x509.ParsePKIXPublicKey(s.PKIXPublicKey)
	if err != nil {
		return field.ErrorList{field.Invalid(keyPath, "<value omitted>", "must be a valid PKIX-serialized public key")}
	}
	if errs := validateKeyType(key, keyPath); len(errs) > 0 {
		return errs
	}
	if !proves(key, []byte(s.PodUID), s.ProofOfPossession) {
		return field.ErrorList{field.Invalid(proof, "<value omitted>", "could not verify proof of possession")}
	}
	return nil
}

func validateKeyType(key any, path *field.Path) field.ErrorList {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if n := k.Size(); n == 3072/8 || n == 4096/8 {
			return nil
		}
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() || k.Curve == elliptic.P384() || k.Curve == elliptic.P521() {
			return nil
		}
	case ed25519.PublicKey:
		return nil
	}
	return field.ErrorList{field.Invalid(path, "<value omitted>",
		"key must be one of RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521, ED25519")}
}

// proves reports whether a signature over the UID was made with the key's private
// half, as the API's documentation says for each type of key.
func proves(key any, uid, signature []byte) bool {
	digest := sha256.Sum256(uid)
	switch k := key.(type) {
	case *rsa.PublicKey:
		return rsa.VerifyPSS(k, crypto.SHA256, digest[:], signature, nil) == nil
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(k, digest[:], signature)
	case ed25519.PublicKey:
		return ed25519.Verify(k, uid, signature)
	}
	return false
}

func validatePodRequestStatus(r, old *podRequest) field.ErrorList {
	path := field.NewPath("status")
	if podRequestState(old) != "Pending" {
		return check.Immutable(r.Status, old.Status, path)
	}
	errs := metavalidation.ValidateConditions(r.Status.Conditions, path.Child("conditions"))
	state, final := podRequestState(r), 0
	for i, c := range r.Status.Conditions {
		switch c.Type {
		case certificatesv1beta1.PodCertificateRequestConditionTypeIssued,
			certificatesv1beta1.PodCertificateRequestConditionTypeDenied,
			certificatesv1beta1.PodCertificateRequestConditionTypeFailed:
			final++
			if c.Status != metav1.ConditionTrue {
				errs = append(errs, field.NotSupported(path.Child("conditions").Index(i).Child("status"), c.Status,
					[]metav1.ConditionStatus{metav1.ConditionTrue}))
			}
		default:
			errs = append(errs, field.NotSupported(path.Child("conditions").Index(i).Child("type"), c.Type,
				[]string{"Denied", "Failed", "Issued"}))
		}
	}
	if final > 1 {
		errs = append(errs, field.Invalid(path.Child("conditions"), "",
			"at most one of the conditions Issued, Denied and Failed may be present"))
	}
	if state == certificatesv1beta1.PodCertificateRequestConditionTypeIssued {
		return append(errs, validateIssued(r, path)...)
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"certificateChain", r.Status.CertificateChain != ""}, {"notBefore", r.Status.NotBefore != nil},
		{"beginRefreshAt", r.Status.BeginRefreshAt != nil}, {"notAfter", r.Status.NotAfter != nil},
	} {
		if f.set {
			errs = append(errs, field.Forbidden(path.Child(f.name), "may only be set with the condition Issued"))
		}
	}
	return errs
}

// validateIssued holds the certificate against the request and the times of the
// status.
func validateIssued(r *podRequest, path *field.Path) field.ErrorList {
	s, chain := &r.Status, path.Child("certificateChain")
	if len(s.CertificateChain) > maxCertificates {
		return field.ErrorList{field.TooLong(chain, "", maxCertificates)}
	}
	leaf := leafOf(s.CertificateChain)
	if leaf == nil {
		return field.ErrorList{field.Invalid(chain, "<value omitted>", "must be PEM blocks of certificates")}
	}
	var errs field.ErrorList
	for _, f := range []struct {
		name string
		got  *metav1.Time
		want time.Time
	}{{"notBefore", s.NotBefore, leaf.NotBefore}, {"notAfter", s.NotAfter, leaf.NotAfter}} {
		if f.got == nil {
			errs = append(errs, field.Required(path.Child(f.name), "must be set with the certificate"))
		} else if !f.got.Time.Equal(f.want) {
			errs = append(errs, field.Invalid(path.Child(f.name), f.got.UTC().Format(time.RFC3339),
				"must be set to the time of the leaf certificate"))
		}
	}
	if b := s.BeginRefreshAt; b == nil {
		errs = append(errs, field.Required(path.Child("beginRefreshAt"), "must be set with the certificate"))
	} else if b.Time.Before(leaf.NotBefore) || b.After(leaf.NotAfter) {
		errs = append(errs, field.Invalid(path.Child("beginRefreshAt"), b.UTC().Format(time.RFC3339),
			"must be in the lifetime of the certificate"))
	}
	lifetime := leaf.NotAfter.Sub(leaf.NotBefore)
	if lifetime < time.Hour || lifetime > time.Duration(ptr.Deref(r.Spec.MaxExpirationSeconds, 0))*time.Second {
		errs = append(errs, field.Invalid(chain, "<value omitted>",
			"leaf certificate's lifetime must be at least an hour and at most maxExpirationSeconds"))
	}
	return errs
}

// leafOf returns the first certificate of a chain that is nothing but certificates.
func leafOf(chain string) *x509.Certificate {
	var leaf *x509.Certificate
	rest := []byte(chain)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return leaf
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			return nil
		}
		if leaf == nil {
			leaf = cert
		}
	}
}
