package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

const (
	gateTrustBundle = "ClusterTrustBundle"
	beta1           = "v1beta1"
	maxTrustBundle  = 1 << 20
)

func trustBundleKind() kind.Kind[*certificatesv1.ClusterTrustBundle] {
	type bundle = *certificatesv1.ClusterTrustBundle
	return kind.Kind[bundle]{
		Representation: kind.Typed[bundle]{Versions: kind.SameFields[bundle](beta1, "v1alpha1")},
		Write: kind.Write[bundle]{
			ValidateName: func(string, bool) []string { return nil }, // depends on the signer
			Validate:     kind.Whole(validateBundle),
			Immutable:    []string{"spec.signerName"},
		},
		Columns: []kind.Column{show.Name(),
			show.FieldOr("SignerName", "spec.signerName", show.None)},
		Select: kind.Select[bundle]{Fields: kind.Fields[bundle]("spec.signerName")},
	}
}

// bundleName returns what is wrong with a name, or a prefix of one: it begins with the signer's name, if there is
// one, and has no colon otherwise.
func bundleName(signer, name string, prefix bool) []string {
	if signer == "" {
		if strings.Contains(name, ":") {
			return []string{"ClusterTrustBundle without signer name must not have \":\" in its name"}
		}
		return validation.NameIsDNSSubdomain(name, prefix)
	}
	begin := strings.ReplaceAll(signer, "/", ":") + ":"
	rest, ok := strings.CutPrefix(name, begin)
	if !ok {
		return []string{"ClusterTrustBundle for signerName " + signer + " must be named with prefix " + begin}
	}
	return validation.NameIsDNSSubdomain(rest, prefix)
}

func validateBundle(b *certificatesv1.ClusterTrustBundle) field.ErrorList {
	var errs field.ErrorList
	meta, path := field.NewPath("metadata"), field.NewPath("spec")
	if b.GenerateName != "" {
		errs = append(errs, check.Name(bundleName(b.Spec.SignerName, b.GenerateName, true), b.GenerateName,
			meta.Child("generateName"))...)
	}
	if b.Name != "" { // a missing one is reported for all kinds
		errs = append(errs, check.Name(bundleName(b.Spec.SignerName, b.Name, false), b.Name, meta.Child("name"))...)
	}
	if b.Spec.SignerName != "" {
		errs = append(errs, check.SignerName(b.Spec.SignerName, path.Child("signerName"))...)
	}
	if len(b.Spec.TrustBundle) > maxTrustBundle {
		return append(errs, field.TooLong(path.Child("trustBundle"), "", maxTrustBundle))
	}
	return append(errs, validateAnchors(b.Spec.TrustBundle, path.Child("trustBundle"))...)
}

// validateAnchors takes a bundle of PEM blocks that are certificates of authorities,
// each of them once.
func validateAnchors(bundle string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string][]int{}
	var order []string
	n := 0
	for block, rest := pem.Decode([]byte(bundle)); block != nil; block, rest = pem.Decode(rest) {
		if text := wrongAnchor(block); text != "" {
			return field.ErrorList{field.Invalid(path, "<value omitted>", fmt.Sprintf("entry %d %s", n, text))}
		}
		order = append(order, string(block.Bytes))
		seen[string(block.Bytes)] = append(seen[string(block.Bytes)], n)
		n++
	}
	for _, anchor := range order {
		if at := seen[anchor]; len(at) > 1 {
			errs = append(errs, field.Invalid(path, "<value omitted>", fmt.Sprintf("duplicate trust anchor (indices %v)", at)))
			delete(seen, anchor)
		}
	}
	if n == 0 {
		errs = append(errs, field.Invalid(path, "<value omitted>", "at least one trust anchor must be provided"))
	}
	return errs
}

func wrongAnchor(block *pem.Block) string {
	if block.Type != "CERTIFICATE" {
		return "has bad block type: " + block.Type
	}
	if len(block.Headers) > 0 {
		return "has PEM block headers"
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return "does not parse as X.509"
	case !cert.BasicConstraintsValid || !cert.IsCA:
		return "does not have the CA bit set"
	}
	return ""
}
