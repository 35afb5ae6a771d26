package certificates

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/types"
	kubevalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/kubeapi/check"
)

const (
	maxPublicKey    = 10 * 1024
	maxCertificates = 100 * 1024
	maxUID          = 128

	maxSkew       = 5 * time.Minute  // of the clock of a signer
	refreshMargin = 10 * time.Minute // at both ends of a certificate's lifetime, without a refresh
)

func validatePodRequest(r *podRequest) field.ErrorList {
	s, path := &r.Spec, field.NewPath("spec")
	errs := check.SignerName(s.SignerName, path.Child("signerName"))
	for _, f := range []struct {
		name, value, uidName string
		uid                  types.UID
		validate             func(string, bool) []string
	}{
		{"podName", s.PodName, "podUID", s.PodUID, validation.NameIsDNSSubdomain},
		{"serviceAccountName", s.ServiceAccountName, "serviceAccountUID", s.ServiceAccountUID,
			validation.ValidateServiceAccountName},
		{"nodeName", string(s.NodeName), "nodeUID", s.NodeUID, validation.NameIsDNSSubdomain},
	} {
		errs = append(errs, check.Name(f.validate(f.value, false), f.value, path.Child(f.name))...)
		if f.uid == "" {
			errs = append(errs, field.Invalid(path.Child(f.uidName), "", "must not be empty"))
		} else if len(f.uid) > maxUID {
			errs = append(errs, field.TooLong(path.Child(f.uidName), "", maxUID))
		}
	}
	errs = append(errs, validateLifetime(s, path.Child("maxExpirationSeconds"))...)
	errs = append(errs, validateUserAnnotations(s.UnverifiedUserAnnotations, path.Child("unverifiedUserAnnotations"))...)
	return append(errs, validateKey(s, path)...)
}

// validateUserAnnotations validates them as annotations whose keys have a domain.
func validateUserAnnotations(annotations map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		errs = append(errs, kubevalidation.IsDomainPrefixedKey(path, strings.ToLower(key))...)
	}
	if validation.ValidateAnnotationsSize(annotations) != nil {
		errs = append(errs, field.TooLong(path, "", validation.TotalAnnotationSizeLimitB))
	}
	return errs
}

func validateLifetime(s *certificatesv1beta1.PodCertificateRequestSpec, path *field.Path) field.ErrorList {
	most := mostSeconds
	if strings.HasPrefix(s.SignerName, "kubernetes.io/") {
		most = dayOfSeconds
	}
	if n := ptr.Deref(s.MaxExpirationSeconds, 0); s.MaxExpirationSeconds == nil {
		return field.ErrorList{field.Required(path, "must be set")}
	} else if n < leastSeconds || n > most {
		return field.ErrorList{field.Invalid(path, n, fmt.Sprintf("must be in the range [%d, %d]", leastSeconds, most))}
	}
	return nil
}

// validateKey requires proof that the client has the private key: a certificate signing
// request, or the UID of the pod with a signature.
func validateKey(s *certificatesv1beta1.PodCertificateRequestSpec, path *field.Path) field.ErrorList {
	stub, key, proof := len(s.StubPKCS10Request) > 0, len(s.PKIXPublicKey) > 0, len(s.ProofOfPossession) > 0
	if key != proof || stub == key {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{},
			"exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set")}
	}
	if stub {
		return validateStub(s.StubPKCS10Request, path.Child("stubPKCS10Request"))
	}
	return validateProof(s, path)
}

func validateStub(stub []byte, path *field.Path) field.ErrorList {
	if len(stub) > maxPublicKey {
		return field.ErrorList{field.TooLong(path, "", maxPublicKey)}
	}
	request, err := x509.ParseCertificateRequest(stub)
	if err != nil {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "must be a valid PKCS#10 CSR")}
	}
	if err := request.CheckSignature(); err != nil {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "invalid signature")}
	}
	return validateKeyType(request.PublicKey, path)
}

func validateProof(s *certificatesv1beta1.PodCertificateRequestSpec, path *field.Path) field.ErrorList {
	keyPath, proof := path.Child("pkixPublicKey"), path.Child("proofOfPossession")
	switch {
	case len(s.PKIXPublicKey) > maxPublicKey:
		return field.ErrorList{field.TooLong(keyPath, "", maxPublicKey)}
	case len(s.ProofOfPossession) > maxPublicKey:
		return field.ErrorList{field.TooLong(proof, "", maxPublicKey)}
	}
	key, err := x509.ParsePKIXPublicKey(s.PKIXPublicKey)
	if err != nil {
		return field.ErrorList{field.Invalid(keyPath, s.PKIXPublicKey, "must be a valid PKIX-serialized public key")}
	}
	if errs := validateKeyType(key, keyPath); len(errs) > 0 {
		return errs
	}
	if !proves(key, []byte(s.PodUID), s.ProofOfPossession) {
		return field.ErrorList{field.Invalid(proof, field.OmitValueType{},
			"could not verify proof-of-possession signature")}
	}
	return nil
}

func validateKeyType(key any, path *field.Path) field.ErrorList {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if n := k.Size() * 8; n != 3072 && n != 4096 {
			return field.ErrorList{field.Invalid(path, fmt.Sprintf("%d-bit modulus", k.N.BitLen()),
				"RSA keys must have modulus size 3072 or 4096")}
		}
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() && k.Curve != elliptic.P384() && k.Curve != elliptic.P521() {
			return field.ErrorList{field.Invalid(path, "curve "+k.Params().Name,
				"elliptic public keys must use curve P256, P384, or P521")}
		}
	case ed25519.PublicKey:
	default:
		return field.ErrorList{field.Invalid(path, field.OmitValueType{},
			"unknown public key type; supported types are Ed25519, ECDSA, and RSA")}
	}
	return nil
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

// validatePodRequestStatus allows one transition, to one of the final conditions with all that belongs to it.
func validatePodRequestStatus(_ context.Context, r, old *podRequest) field.ErrorList {
	path := field.NewPath("status")
	if errs := validatePodRequestConditions(r.Status.Conditions, path.Child("conditions")); len(errs) > 0 {
		return errs
	}
	s := &r.Status
	if equality.Semantic.DeepEqual(s, &old.Status) {
		return nil
	}
	if podRequestState(old) != pending {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{},
			"immutable after PodCertificateRequest is issued, denied, or failed")}
	}
	switch state := podRequestState(r); {
	case state == certificatesv1beta1.PodCertificateRequestConditionTypeIssued:
		return validateIssued(r, path)
	case state == pending:
		return field.ErrorList{field.Invalid(path, field.OmitValueType{},
			`status is immutable unless transitioning to "Issued", "Denied", or "Failed"`)}
	case s.CertificateChain != "" || s.NotBefore != nil || s.BeginRefreshAt != nil || s.NotAfter != nil:
		return field.ErrorList{field.Invalid(path, field.OmitValueType{},
			"non-condition status fields must be empty when denying or failing the PodCertificateRequest")}
	}
	return nil
}

func validatePodRequestConditions(conditions []metav1.Condition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	final := 0
	for i, c := range conditions {
		at := path.Child(fmt.Sprintf("[%d]", i)) // the path that kube-apiserver reports
		switch c.Type {
		case certificatesv1beta1.PodCertificateRequestConditionTypeIssued,
			certificatesv1beta1.PodCertificateRequestConditionTypeDenied,
			certificatesv1beta1.PodCertificateRequestConditionTypeFailed:
			if final++; final > 1 {
				errs = append(errs, field.Invalid(at.Child("type"), c.Type,
					`There may be at most one condition with type "Issued", "Denied", or "Failed"`))
			}
			if c.Status != metav1.ConditionTrue {
				errs = append(errs, field.NotSupported(at.Child("status"), c.Status,
					[]metav1.ConditionStatus{metav1.ConditionTrue}))
			}
		default:
			errs = append(errs, field.NotSupported(at.Child("type"), c.Type, []string{"Issued", "Denied", "Failed"}))
		}
	}
	return append(errs, metavalidation.ValidateConditions(conditions, path)...)
}

// validateIssued validates the certificate, and the times of the status, against the request.
func validateIssued(r *podRequest, path *field.Path) field.ErrorList {
	leaf, errs := parseChain(r.Status.CertificateChain, path.Child("certificateChain"))
	if len(errs) > 0 {
		return errs
	}
	if !issuedTo(leaf, &r.Spec) {
		return field.ErrorList{field.Invalid(path.Child("certificateChain"), r.Status.CertificateChain,
			"leaf certificate was not issued to the requested public key")}
	}
	for _, f := range []struct {
		name, detail string
		got          *metav1.Time
	}{
		{"notBefore", "must be present and consistent with the issued certificate", r.Status.NotBefore},
		{"notAfter", "must be present and consistent with the issued certificate", r.Status.NotAfter},
		{"beginRefreshAt", "must be present and in the range [notbefore+10min, notafter-10min]", r.Status.BeginRefreshAt},
	} {
		if f.got == nil {
			errs = append(errs, field.Required(path.Child(f.name), f.detail))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return validateTimes(r, leaf, path)
}

// validateTimes validates the times of the status, all of which are set. It returns one error at most.
func validateTimes(r *podRequest, leaf *x509.Certificate, path *field.Path) field.ErrorList {
	notBefore, notAfter, refresh := r.Status.NotBefore, r.Status.NotAfter, r.Status.BeginRefreshAt
	lifetime, most := leaf.NotAfter.Sub(leaf.NotBefore), ptr.Deref(r.Spec.MaxExpirationSeconds, 0)
	var name, detail string
	var value any
	switch {
	case !notBefore.Time.Equal(leaf.NotBefore):
		name, value, detail = "notBefore", notBefore, "must be set to the NotBefore time encoded in the leaf certificate"
	case time.Since(notBefore.Time).Abs() > maxSkew:
		name, value, detail = "notBefore", notBefore, "must be set to within 5 minutes of kube-apiserver's current time"
	case !notAfter.Time.Equal(leaf.NotAfter):
		name, value, detail = "notAfter", notAfter, "must be set to the NotAfter time encoded in the leaf certificate"
	case lifetime < time.Hour:
		name, value, detail = "certificateChain", lifetime, "leaf certificate lifetime must be >= 1 hour"
	case lifetime > time.Duration(most)*time.Second:
		name, value, detail = "certificateChain", lifetime,
			fmt.Sprintf("leaf certificate lifetime must be <= spec.maxExpirationSeconds (%d)", most)
	case refresh.Time.Before(notBefore.Add(refreshMargin)):
		name, value, detail = "beginRefreshAt", refresh, "must be at least 10 minutes after status.notBefore"
	case refresh.After(notAfter.Add(-refreshMargin)):
		name, value, detail = "beginRefreshAt", refresh, "must be at least 10 minutes before status.notAfter"
	default:
		return nil
	}
	if t, ok := value.(*metav1.Time); ok {
		value = t.UTC().Format(time.RFC3339)
	}
	return field.ErrorList{field.Invalid(path.Child(name), value, detail)}
}

// parseChain returns the first certificate of a chain.
func parseChain(chain string, path *field.Path) (leaf *x509.Certificate, errs field.ErrorList) {
	if len(chain) > maxCertificates {
		return nil, field.ErrorList{field.TooLong(path, "", maxCertificates)}
	}
	invalid := func(detail string) (*x509.Certificate, field.ErrorList) {
		return nil, field.ErrorList{field.Invalid(path, chain, detail)}
	}
	for block, rest := pem.Decode([]byte(chain)); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		switch {
		case block.Type != "CERTIFICATE":
			return invalid("issued certificate chain must consist entirely of CERTIFICATE PEM blocks")
		case err != nil && leaf == nil:
			return invalid("leaf certificate does not parse as valid X.509")
		case err != nil:
			return invalid("intermediate certificate does not parse as valid X.509")
		case leaf == nil:
			leaf = cert
		}
	}
	if leaf == nil {
		return invalid("issued certificate chain must contain at least one certificate")
	}
	return leaf, nil
}

// issuedTo reports whether a certificate is for the key of a valid request.
func issuedTo(leaf *x509.Certificate, s *certificatesv1beta1.PodCertificateRequestSpec) bool {
	var key any
	if len(s.StubPKCS10Request) > 0 {
		request, err := x509.ParseCertificateRequest(s.StubPKCS10Request)
		if err != nil {
			return false
		}
		key = request.PublicKey
	} else {
		var err error
		if key, err = x509.ParsePKIXPublicKey(s.PKIXPublicKey); err != nil {
			return false
		}
	}
	public, ok := key.(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(leaf.PublicKey)
}
