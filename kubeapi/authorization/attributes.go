package authorization

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/authentication/user"
	"triplane/generic/authorization/authorizer"
)

// bareMetadata refuses metadata: a review is not kept.
func bareMetadata(m *metav1.ObjectMeta, namespace string) field.ErrorList {
	bare := *m.DeepCopy()
	bare.ManagedFields, bare.Namespace = nil, ""
	bare.CreationTimestamp, bare.UID = metav1.Time{}, ""
	if m.Namespace == namespace && equality.Semantic.DeepEqual(bare, metav1.ObjectMeta{}) {
		return nil
	}
	msg := "must be empty"
	if namespace != "" {
		msg = "must be empty except for namespace"
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata"), m, msg)}
}

func what(r *authorizationv1.ResourceAttributes, n *authorizationv1.NonResourceAttributes) field.ErrorList {
	switch {
	case r != nil && n != nil:
		return field.ErrorList{field.Invalid(field.NewPath("spec.nonResourceAttributes"), n, "cannot be specified in combination with resourceAttributes")}
	case r == nil && n == nil:
		return field.ErrorList{field.Invalid(field.NewPath("spec.resourceAttributes"), r, "exactly one of nonResourceAttributes or resourceAttributes must be specified")}
	case r != nil:
		return selectors(r)
	}
	return nil
}

func subject(s *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	errs := what(s.ResourceAttributes, s.NonResourceAttributes)
	if s.User == "" && len(s.Groups) == 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec.user"), s.User, "at least one of user or group must be specified"))
	}
	return errs
}

// selectors judges the selectors of a review.
func selectors(r *authorizationv1.ResourceAttributes) field.ErrorList {
	var errs field.ErrorList
	common := func(raw string, n int, p *field.Path) {
		if raw != "" && n > 0 {
			errs = append(errs, field.Invalid(p.Child("rawSelector"), raw, "may not specified at the same time as requirements"))
		}
		if raw == "" && n == 0 {
			errs = append(errs, field.Required(p.Child("requirements"), "when "+p.String()+" is specified, requirements or rawSelector is required"))
		}
	}
	path := field.NewPath("spec.resourceAttributes")
	if s := r.FieldSelector; s != nil {
		p := path.Child("fieldSelector")
		common(s.RawSelector, len(s.Requirements), p)
		for i := range s.Requirements {
			errs = append(errs, fieldRequirement(&s.Requirements[i], p.Child("requirements").Index(i))...)
		}
	}
	if s := r.LabelSelector; s != nil {
		p := path.Child("labelSelector")
		common(s.RawSelector, len(s.Requirements), p)
		for i := range s.Requirements {
			errs = append(errs, metav1validation.ValidateLabelSelectorRequirement(s.Requirements[i], metav1validation.LabelSelectorValidationOptions{}, p.Child("requirements").Index(i))...)
		}
	}
	return errs
}

func fieldRequirement(r *metav1.FieldSelectorRequirement, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.Key == "" {
		errs = append(errs, field.Required(path.Child("key"), "must be specified"))
	}
	switch r.Operator {
	case metav1.FieldSelectorOpIn, metav1.FieldSelectorOpNotIn:
		if len(r.Values) == 0 {
			errs = append(errs, field.Required(path.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'"))
		}
	case metav1.FieldSelectorOpExists, metav1.FieldSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			errs = append(errs, field.Forbidden(path.Child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
		}
	default:
		errs = append(errs, field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	return errs
}

func attributesOf(s *authorizationv1.SubjectAccessReviewSpec) *authorizer.Attributes {
	u := &user.Info{Name: s.User, UID: s.UID, Groups: s.Groups}
	for k, v := range s.Extra {
		if u.Extra == nil {
			u.Extra = map[string][]string{}
		}
		u.Extra[k] = v
	}
	a := &authorizer.Attributes{User: u}
	fill(a, s.ResourceAttributes, s.NonResourceAttributes)
	return a
}

func fill(a *authorizer.Attributes, r *authorizationv1.ResourceAttributes, n *authorizationv1.NonResourceAttributes) {
	if r == nil {
		a.Path, a.Verb = n.Path, n.Verb
		return
	}
	a.ResourceRequest, a.Verb, a.Namespace, a.Name = true, r.Verb, r.Namespace, r.Name
	a.APIGroup, a.APIVersion, a.Resource, a.Subresource = r.Group, r.Version, r.Resource, r.Subresource
	if a.APIVersion == "" {
		a.APIVersion = "*"
	}
	fillSelectors(a, r)
}

// fillSelectors adds the selectors; what cannot be read narrows nothing.
func fillSelectors(a *authorizer.Attributes, r *authorizationv1.ResourceAttributes) {
	if s := r.FieldSelector; s != nil {
		if parsed, err := fields.ParseSelector(s.RawSelector); s.RawSelector != "" && err == nil {
			a.FieldSelector = parsed.Requirements()
		}
		for _, q := range s.Requirements {
			op, ok := map[metav1.FieldSelectorOperator]selection.Operator{
				metav1.FieldSelectorOpIn: selection.Equals, metav1.FieldSelectorOpNotIn: selection.NotEquals,
			}[q.Operator]
			if ok && len(q.Values) == 1 {
				a.FieldSelector = append(a.FieldSelector, fields.Requirement{Operator: op, Field: q.Key, Value: q.Values[0]})
			}
		}
	}
	if s := r.LabelSelector; s != nil {
		if parsed, err := labels.ParseToRequirements(s.RawSelector); s.RawSelector != "" && err == nil {
			a.LabelSelector = parsed
		}
		if len(s.Requirements) > 0 {
			if parsed, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: s.Requirements}); err == nil {
				a.LabelSelector, _ = parsed.Requirements()
			}
		}
	}
}
