package volume

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
)

// trustBundle validates the projection of a bundle that is named, or of those of a signer.
func (v *checker) trustBundle(b *corev1.ClusterTrustBundleProjection, path *field.Path) {
	switch {
	case b.Name == nil && b.SignerName == nil:
		v.Add(field.Required(path, "either name or signerName must be specified"))
	case b.Name != nil && b.SignerName != nil:
		v.Add(field.Invalid(path, b, "only one of name and signerName may be used"))
	case b.SignerName != nil:
		if *b.SignerName == "" {
			v.Add(field.Required(path.Child("signerName"), "must be a valid signer name"))
		}
		v.Add(check.SignerName(*b.SignerName, path.Child("signerName"))...)
		if b.LabelSelector != nil {
			v.Add(validation.ValidateLabelSelector(b.LabelSelector, validation.LabelSelectorValidationOptions{},
				path.Child("labelSelector"))...)
		}
	default:
		if *b.Name == "" {
			v.Add(field.Required(path.Child("name"), "must be a valid object name"))
		}
		v.bundleName(*b.Name, path.Child("name"))
		if b.LabelSelector != nil {
			v.Add(field.Invalid(path.Child("labelSelector"), b.LabelSelector,
				"labelSelector must be unset if name is specified"))
		}
	}
	if b.Path == "" {
		v.Add(field.Required(path.Child("path"), ""))
		return
	}
	v.filePath(b.Path, path.Child("path"))
}

// bundleName validates the name of a bundle: that of its signer, with colons for its slashes, and a colon, if it has a
// signer, and a subdomain.
func (v *checker) bundleName(name string, path *field.Path) {
	i := strings.LastIndex(name, ":")
	msgs := utilvalidation.IsDNS1123Subdomain(name[i+1:])
	switch {
	case i == 0:
		msgs = []string{`ClusterTrustBundle without signer name must not have ":" in its name`}
	case i > 0 && strings.Contains(name[:i], "/"):
		msgs = []string{fmt.Sprintf("ClusterTrustBundle for signerName %s must be named with prefix %s:",
			strings.ReplaceAll(name[:i], ":", "/"), strings.ReplaceAll(name[:i], "/", ":"))}
	}
	for _, m := range msgs {
		v.Add(field.Invalid(path, name, "not a valid clustertrustbundlename: "+m))
	}
}

// Bounds of the lifetime of a certificate, in seconds; dayOfSeconds is the longest of the signers of Kubernetes.
const (
	shortestLifetime = 3600
	dayOfSeconds     = 24 * 3600
	longestLifetime  = 91 * dayOfSeconds
)

func (v *checker) certificateLifetime(signer string, seconds *int32, path *field.Path) {
	longest := int32(longestLifetime)
	if strings.HasPrefix(signer, "kubernetes.io/") {
		longest = dayOfSeconds
	}
	switch {
	case seconds == nil:
	case *seconds < shortestLifetime:
		v.Add(field.Invalid(path, *seconds, fmt.Sprintf("if provided, maxExpirationSeconds must be >= %d", shortestLifetime)))
	case *seconds > longest:
		v.Add(field.Invalid(path, *seconds, fmt.Sprintf("if provided, maxExpirationSeconds must be <= %d", longest)))
	}
}

// userAnnotations validates annotations for the signer, whose keys have a domain.
func (v *checker) userAnnotations(annotations map[string]string, path *field.Path) {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		errs = append(errs, utilvalidation.IsDomainPrefixedKey(path, strings.ToLower(key))...)
	}
	if err := apivalidation.ValidateAnnotationsSize(annotations); err != nil {
		errs = append(errs, field.TooLong(path, "", apivalidation.TotalAnnotationSizeLimitB))
	}
	v.Add(errs...)
}

// podCertificate validates the projection of a certificate that a kubelet requests for the pod.
func (v *checker) podCertificate(c *corev1.PodCertificateProjection, path *field.Path, place func(shown, file string)) {
	v.Add(check.SignerName(c.SignerName, path.Child("signerName"))...)
	v.userAnnotations(c.UserAnnotations, path.Child("userAnnotations"))
	v.Add(check.OneOf(c.KeyType, path.Child("keyType"), "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521",
		"ED25519")...)
	v.certificateLifetime(c.SignerName, c.MaxExpirationSeconds, path.Child("maxExpirationSeconds"))
	files := 0
	for _, f := range []struct{ name, file string }{
		{"credentialBundlePath", c.CredentialBundlePath}, {"keyPath", c.KeyPath},
		{"certificateChainPath", c.CertificateChainPath},
	} {
		if f.file == "" {
			continue
		}
		files++
		v.filePath(f.file, path.Child(f.name))
		place(f.file, f.file)
	}
	if files == 0 {
		v.Add(field.Required(path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"))
	}
}
