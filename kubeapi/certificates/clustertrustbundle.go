package certificates

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/show"
)

const (
	gateTrustBundle = "ClusterTrustBundle"
	beta1           = "certificates.k8s.io/v1beta1"
	maxTrustBundle  = 1 << 20
)

func trustBundleKind() kind.Kind[*certificatesv1.ClusterTrustBundle] {
	type bundle = *certificatesv1.ClusterTrustBundle
	return kind.Kind[bundle]{
		Hub: certificatesv1.SchemeGroupVersion.WithKind("ClusterTrustBundle"),
		Representation: kind.Typed[bundle]{Versions: kind.SameFields[bundle]("ClusterTrustBundle", beta1,
			"certificates.k8s.io/v1alpha1")},
		Names: kind.Names{Plural: "clustertrustbundles"},
		Write: kind.Write[bundle]{
			ValidateName: bundleName,
			Validate:     func(_ context.Context, b bundle) field.ErrorList { return validateBundle(b) },
			ValidateUpdate: func(_ context.Context, b, old bundle) field.ErrorList {
				return append(validateBundle(b), check.Immutable(b.Spec.SignerName, old.Spec.SignerName,
					field.NewPath("spec", "signerName"))...)
			},
		},
		Show: kind.Show[bundle]{
			Columns: []kind.Column{show.Name(),
				show.Text("SignerName", show.Doc(certificatesv1.ClusterTrustBundleSpec{}, "signerName"))},
			Cells: func(b bundle, _ func(metav1.Time) string) []any {
				signer := b.Spec.SignerName
				if signer == "" {
					signer = "<none>"
				}
				return []any{b.Name, signer}
			},
		},
		Select: kind.Select[bundle]{Fields: []kind.SelectableField[bundle]{
			{Path: "spec.signerName", Get: func(b bundle) string { return b.Spec.SignerName }},
		}},
	}
}

// bundleName validates the parts between colons as names; which of them
// there are depends on the signer.
func bundleName(name string, prefix bool) []string {
	var wrong []string
	parts := strings.Split(name, ":")
	for i, part := range parts {
		wrong = append(wrong, validation.NameIsDNSSubdomain(part, prefix && i == len(parts)-1)...)
	}
	return wrong
}

func validateBundle(b *certificatesv1.ClusterTrustBundle) field.ErrorList {
	var errs field.ErrorList
	name, path := field.NewPath("metadata", "name"), field.NewPath("spec")
	if b.Spec.SignerName == "" {
		if strings.Contains(b.Name, ":") {
			errs = append(errs, field.Invalid(name, b.Name,
				"ClusterTrustBundle without signer name must not have \":\" in its name"))
		}
	} else {
		prefix := strings.ReplaceAll(b.Spec.SignerName, "/", ":") + ":"
		if !strings.HasPrefix(b.Name, prefix) {
			errs = append(errs, field.Invalid(name, b.Name, "ClusterTrustBundle for signerName "+b.Spec.SignerName+
				" must be named with prefix "+prefix))
		}
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
	rest, n := []byte(bundle), 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if text := wrongAnchor(block); text != "" {
			errs = append(errs, field.Invalid(path, "<value omitted>", text))
		} else {
			order = append(order, string(block.Bytes))
			seen[string(block.Bytes)] = append(seen[string(block.Bytes)], n)
		}
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
		return "entry has bad block type: " + block.Type
	}
	if len(block.Headers) > 0 {
		return "entry has PEM block headers"
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return "entry does not parse as a certificate"
	case !cert.BasicConstraintsValid || !cert.IsCA:
		return "entry is not a certificate of an authority (basic constraints)"
	}
	return ""
}
