package certificates

import (
	"context"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/generic/base/request"
)

func signingRequestKind(issued *requestMetrics) kind.Kind[*csr] {
	spec := certificatesv1beta1.CertificateSigningRequestSpec{}
	return kind.Kind[*csr]{
		Representation: kind.Typed[*csr]{Former: formerRequests(), MetadataOnStatus: kind.MetadataWhole},
		Names:          kind.Names{ShortNames: []string{"csr"}},
		Write: kind.Write[*csr]{
			ValidateName:             func(string, bool) []string { return nil },
			Prepare:                  kind.AtCreation(prepareCreate),
			Preserves:                []string{"spec"},
			Validate:                 kind.OnCreate(validate, validateUpdate),
			AllowUnconditionalUpdate: kind.Always,
		},
		Columns: []kind.Column{show.Name(), show.Age(),
			show.FieldOr("SignerName", "spec.signerName", show.None, show.Doc(spec, "signerName")),
			show.Field("Requestor", "spec.username", show.Doc(spec, "request")),
			show.Cell("RequestedDuration", ".spec.expirationSeconds", requestedDuration),
			show.Cell("Condition", show.Doc(certificatesv1beta1.CertificateSigningRequestStatus{}, "conditions"), state)},
		Select: kind.Select[*csr]{Fields: kind.Fields[*csr]("spec.signerName")},
		Status: &kind.Subresource[*csr]{
			Prepare:  prepareStatus,
			Begin:    countIssued(issued),
			Validate: validateStatusUpdate,
			Resets:   []string{"status.conditions"},
		},
		// Approvers write conditions and nothing else.
		Subresources: map[string]*kind.Subresource[*csr]{"approval": {
			Preserves: []string{"spec", "status.certificate"}, Prepare: stamp,
			Validate: func(_ context.Context, r, old *csr) field.ErrorList { return validateUpdate(r, old) },
			NoTable:  true,
		}},
	}
}

// prepareCreate records the requesting user.
func prepareCreate(ctx context.Context, r *csr) {
	r.Spec.Username, r.Spec.UID, r.Spec.Groups, r.Spec.Extra = "", "", nil, nil
	if u := request.UserFrom(ctx); u != nil {
		r.Spec.Username, r.Spec.UID = u.Name, u.UID
		r.Spec.Groups = append([]string(nil), u.Groups...)
		for k, v := range u.Extra {
			if r.Spec.Extra == nil {
				r.Spec.Extra = map[string]certificatesv1.ExtraValue{}
			}
			r.Spec.Extra[k] = append(certificatesv1.ExtraValue(nil), v...)
		}
	}
}

// prepareStatus lets signers write what they do; approval stays as it is.
func prepareStatus(ctx context.Context, r, old *csr) {
	for _, t := range approvals() {
		keepConditions(r, old, t)
	}
	stamp(ctx, r, old)
}

// keepConditions leaves the conditions of a type as they were, where there are as many.
func keepConditions(r, old *csr, t certificatesv1.RequestConditionType) {
	if count(r, t) != count(old, t) {
		return
	}
	was := old.Status.Conditions
	for i := range r.Status.Conditions {
		if r.Status.Conditions[i].Type != t {
			continue
		}
		for was[0].Type != t {
			was = was[1:]
		}
		r.Status.Conditions[i], was = was[0], was[1:]
	}
}

// stamp fills in the times of conditions.
func stamp(_ context.Context, r, old *csr) {
	now := metav1.NewTime(time.Now())
	for i := range r.Status.Conditions {
		c := &r.Status.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = now
		for _, o := range old.Status.Conditions {
			if o.Type == c.Type && o.Status == c.Status && !o.LastTransitionTime.IsZero() {
				c.LastTransitionTime = o.LastTransitionTime
			}
		}
	}
}

func requestedDuration(r *csr) string {
	if s := r.Spec.ExpirationSeconds; s != nil {
		return duration.HumanDuration(time.Duration(*s) * time.Second)
	}
	return show.None
}

func state(r *csr) string {
	var approved, denied, failed bool
	for _, c := range r.Status.Conditions {
		switch {
		case c.Status == corev1.ConditionFalse:
		case c.Type == certificatesv1.CertificateApproved:
			approved = true
		case c.Type == certificatesv1.CertificateDenied:
			denied = true
		case c.Type == certificatesv1.CertificateFailed:
			failed = true
		}
	}
	words := []string{"Pending"}
	if denied {
		words = []string{"Denied"}
	} else if approved {
		words = []string{"Approved"}
	}
	if failed {
		words = append(words, "Failed")
	}
	if len(r.Status.Certificate) > 0 {
		words = append(words, "Issued")
	}
	return strings.Join(words, ",")
}
