package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane/kubeapi/check"
)

// trustBundle validates the projection of a bundle that is named, or of those of a signer.
func (v *checker) trustBundle(b *corev1.ClusterTrustBundleProjection, path *field.Path) {
	switch name, signer := ptr.Deref(b.Name, ""), ptr.Deref(b.SignerName, ""); {
	case name == "" && signer == "":
		v.add(field.Required(path, "either name or signerName must be specified"))
	case name != "" && signer != "":
		v.add(field.Invalid(path, b, "only one of name and signerName may be used"))
	case signer != "":
		v.add(check.SignerName(signer, path.Child("signerName"))...)
		if b.LabelSelector != nil {
			v.add(validation.ValidateLabelSelector(b.LabelSelector, validation.LabelSelectorValidationOptions{},
				path.Child("labelSelector"))...)
		}
	default:
		v.add(check.Subdomain(strings.ReplaceAll(name, ":", "."), path.Child("name"))...)
		if b.LabelSelector != nil {
			v.add(field.Invalid(path.Child("labelSelector"), b.LabelSelector, "labelSelector may not be used with name"))
		}
	}
	if b.Path == "" {
		v.add(field.Required(path.Child("path"), ""))
		return
	}
	v.filePath(b.Path, path.Child("path"))
}

// podCertificate validates the projection of a certificate that a kubelet requests for the pod.
func (v *checker) podCertificate(c *corev1.PodCertificateProjection, path *field.Path, place func(shown, file string)) {
	v.add(check.SignerName(c.SignerName, path.Child("signerName"))...)
	v.add(check.OneOf(c.KeyType, path.Child("keyType"), "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521",
		"ED25519")...)
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
		v.add(field.Required(path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"))
	}
}
