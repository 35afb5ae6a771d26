package certificates

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
)

const (
	legacySigner = "kubernetes.io/legacy-unknown"
	minSeconds   = 600
)

func usages() []certificatesv1.KeyUsage {
	return []certificatesv1.KeyUsage{
		certificatesv1.UsageAny, certificatesv1.UsageCertSign, certificatesv1.UsageClientAuth,
		certificatesv1.UsageCodeSigning,
		certificatesv1.UsageContentCommitment, certificatesv1.UsageCRLSign, certificatesv1.UsageDataEncipherment,
		certificatesv1.UsageDecipherOnly, certificatesv1.UsageDigitalSignature, certificatesv1.UsageEmailProtection,
		certificatesv1.UsageEncipherOnly, certificatesv1.UsageIPsecEndSystem, certificatesv1.UsageIPsecTunnel,
		certificatesv1.UsageIPsecUser, certificatesv1.UsageKeyAgreement, certificatesv1.UsageKeyEncipherment,
		certificatesv1.UsageMicrosoftSGC, certificatesv1.UsageNetscapeSGC, certificatesv1.UsageOCSPSigning,
		certificatesv1.UsageSMIME, certificatesv1.UsageServerAuth, certificatesv1.UsageSigning,
		certificatesv1.UsageTimestamping,
	}
}

func validate(r *csr) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateSpec(r, path)
	errs = append(errs, validateConditions(r.Status.Conditions, field.NewPath("status", "conditions"))...)
	return append(errs, validateCertificate(r.Status.Certificate)...)
}

func validateSpec(r *csr, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if _, err := check.CertificateRequest(r.Spec.Request); err != nil {
		errs = append(errs, field.Invalid(path.Child("request"), r.Spec.Request, err.Error()))
	}
	if len(r.Spec.Usages) == 0 {
		errs = append(errs, field.Required(path.Child("usages"), ""))
	}
	seen := map[certificatesv1.KeyUsage]bool{}
	for i, u := range r.Spec.Usages {
		errs = append(errs, check.OneOf(u, path.Child("usages").Index(i), usages()...)...)
		if seen[u] {
			errs = append(errs, field.Duplicate(path.Child("usages").Index(i), u))
		}
		seen[u] = true
	}
	if r.Spec.SignerName == legacySigner {
		errs = append(errs, field.Invalid(path.Child("signerName"), r.Spec.SignerName,
			"the legacy signerName is not allowed via this API version"))
	} else {
		errs = append(errs, check.SignerName(r.Spec.SignerName, path.Child("signerName"))...)
	}
	if s := r.Spec.ExpirationSeconds; s != nil && *s < minSeconds {
		errs = append(errs, field.Invalid(path.Child("expirationSeconds"), *s,
			"may not specify a duration less than 600 seconds (10 minutes)"))
	}
	return errs
}

func final(t certificatesv1.RequestConditionType) bool {
	return t == certificatesv1.CertificateApproved || t == certificatesv1.CertificateDenied ||
		t == certificatesv1.CertificateFailed
}

func validateConditions(cs []certificatesv1.CertificateSigningRequestCondition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[certificatesv1.RequestConditionType]bool{}
	for i, c := range cs {
		at := path.Index(i)
		if c.Type == "" {
			errs = append(errs, field.Required(at.Child("type"), ""))
		}
		allowed := check.ConditionStatuses()
		if final(c.Type) {
			allowed = []corev1.ConditionStatus{corev1.ConditionTrue}
		}
		if c.Status == "" {
			errs = append(errs, field.Required(at.Child("status"), ""))
		} else {
			errs = append(errs, check.OneOf(c.Status, at.Child("status"), allowed...)...)
		}
		if c.Type == certificatesv1.CertificateApproved && seen[certificatesv1.CertificateDenied] ||
			c.Type == certificatesv1.CertificateDenied && seen[certificatesv1.CertificateApproved] {
			const approved, denied = `conditions[{"type": "Approved"}]`, `conditions[{"type": "Denied"}]`
			errs = append(errs, field.Invalid(path, "{"+approved+", "+denied+"}", "must specify at most one of: `"+approved+
				"`, `"+denied+"`"))
		}
		if seen[c.Type] {
			errs = append(errs, field.Duplicate(at.Child("type"), c.Type))
		}
		seen[c.Type] = true
	}
	return errs
}

func validateCertificate(data []byte) field.ErrorList {
	if len(data) == 0 {
		return nil
	}
	if err := checkCertificate(data); err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("status", "certificate"), "<certificate data>", err.Error())}
	}
	return nil
}

func checkCertificate(data []byte) error {
	blocks := 0
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		blocks++
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("only CERTIFICATE PEM blocks are allowed, found %q", block.Type)
		}
		if len(block.Headers) != 0 {
			return errors.New("no PEM block headers are permitted")
		}
		certs, err := x509.ParseCertificates(block.Bytes)
		if err != nil {
			return err
		}
		if len(certs) == 0 {
			return errors.New("found CERTIFICATE PEM block containing 0 certificates")
		}
	}
	if blocks == 0 {
		return errors.New("must contain at least one CERTIFICATE PEM block")
	}
	return nil
}

// validateUpdate validates any change. What is there already is taken as it is.
func validateUpdate(r, old *csr) field.ErrorList {
	conditions := field.NewPath("status", "conditions")
	var errs field.ErrorList
	if check.Differs(r.Status.Conditions, old.Status.Conditions) {
		errs = append(errs, validateConditions(r.Status.Conditions, conditions)...)
	}
	if !bytes.Equal(r.Status.Certificate, old.Status.Certificate) {
		errs = append(errs, validateCertificate(r.Status.Certificate)...)
	}
	for _, t := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved,
		certificatesv1.CertificateDenied, certificatesv1.CertificateFailed} {
		if count(old, t) > count(r, t) {
			errs = append(errs, field.Forbidden(conditions, fmt.Sprintf("updates may not remove a condition of type %q", t)))
		}
	}
	return errs
}

func validateStatusUpdate(_ context.Context, r, old *csr) field.ErrorList {
	errs := validateUpdate(r, old)
	for _, t := range approvals() {
		if count(r, t) > count(old, t) {
			errs = append(errs, field.Forbidden(field.NewPath("status", "conditions"),
				fmt.Sprintf("updates may not add a condition of type %q", t)))
		}
	}
	if len(old.Status.Certificate) > 0 && !bytes.Equal(r.Status.Certificate, old.Status.Certificate) {
		errs = append(errs, field.Forbidden(field.NewPath("status", "certificate"),
			"updates may not modify existing certificate content"))
	}
	return errs
}

// approvals are the types of conditions that approvers write.
func approvals() []certificatesv1.RequestConditionType {
	return []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied}
}

func count(r *csr, t certificatesv1.RequestConditionType) int {
	n := 0
	for _, c := range r.Status.Conditions {
		if c.Type == t {
			n++
		}
	}
	return n
}
