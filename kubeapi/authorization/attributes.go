package authorization

import (
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
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

func exactlyOne(r *authorizationv1.ResourceAttributes, n *authorizationv1.NonResourceAttributes) field.ErrorList {
	const message = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
	var errs field.ErrorList
	switch {
	case r != nil && n != nil:
		errs = append(errs, field.Invalid(field.NewPath("spec"), n, message))
	case r == nil && n == nil:
		errs = append(errs, field.Invalid(field.NewPath("spec"), r, message))
	}
	return errs
}

func subject(s *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	errs := exactlyOne(s.ResourceAttributes, s.NonResourceAttributes)
	if s.User == "" && len(s.Groups) == 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec.user"), s.User,
			"at least one of user or group must be specified"))
	}
	return append(errs, selectors(s.ResourceAttributes)...)
}

// selectors validates the selectors of a review; r may be nil.
func selectors(r *authorizationv1.ResourceAttributes) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	common := func(raw string, n int, p *field.Path) {
		if raw != "" && n > 0 {
			errs = append(errs, field.Invalid(p.Child("rawSelector"), raw, "may not specified at the same time as requirements"))
		}
		if raw == "" && n == 0 {
			errs = append(errs, field.Required(p.Child("requirements"), "when "+p.String()+
				" is specified, requirements or rawSelector is required"))
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
			errs = append(errs, labelRequirement(&s.Requirements[i], p.Child("requirements").Index(i))...)
		}
	}
	return errs
}

func labelRequirement(r *metav1.LabelSelectorRequirement, path *field.Path) field.ErrorList {
	errs := metav1validation.ValidateLabelSelectorRequirement(*r, metav1validation.LabelSelectorValidationOptions{}, path)
	if _, known := labelOperators[r.Operator]; !known {
		operator := path.Child("operator").String()
		errs = slices.DeleteFunc(errs, func(e *field.Error) bool { return e.Field == operator })
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
			errs = append(errs, field.Forbidden(path.Child("values"),
				"may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
		}
	}
	return errs // of operators that are not known yet, the evaluation reports
}

// attributesOf is what a review asks about, and what of it could not be read.
func attributesOf(s *authorizationv1.SubjectAccessReviewSpec) (*authorizer.Attributes, []string) {
	u := &user.Info{Name: s.User, UID: s.UID, Groups: s.Groups}
	for k, v := range s.Extra {
		if u.Extra == nil {
			u.Extra = map[string][]string{}
		}
		u.Extra[k] = v
	}
	a := &authorizer.Attributes{User: u}
	return a, fill(a, s.ResourceAttributes, s.NonResourceAttributes)
}

func fill(a *authorizer.Attributes, r *authorizationv1.ResourceAttributes,
	n *authorizationv1.NonResourceAttributes) (problems []string) {
	if r == nil {
		a.Path, a.Verb = n.Path, n.Verb
		return nil
	}
	a.ResourceRequest, a.Verb, a.Namespace, a.Name = true, r.Verb, r.Namespace, r.Name
	a.APIGroup, a.APIVersion, a.Resource, a.Subresource = r.Group, r.Version, r.Resource, r.Subresource
	if a.APIVersion == "" {
		a.APIVersion = "*"
	}
	note := func(selector string, read int, ok bool) {
		switch {
		case ok:
		case read > 0:
			problems = append(problems, "spec.resourceAttributes."+selector+" partially ignored due to parse error")
		default:
			problems = append(problems, "spec.resourceAttributes."+selector+" ignored due to parse error")
		}
	}
	if s := r.FieldSelector; s != nil {
		var ok bool
		a.FieldSelector, ok = fieldRequirements(s)
		note("fieldSelector", len(a.FieldSelector), ok)
	}
	if s := r.LabelSelector; s != nil {
		var ok bool
		a.LabelSelector, ok = labelRequirements(s)
		note("labelSelector", len(a.LabelSelector), ok)
	}
	return problems
}

// fieldRequirements reads what can be read of a field selector; false means that
// something could not, which narrows nothing then.
func fieldRequirements(s *authorizationv1.FieldSelectorAttributes) (read fields.Requirements, ok bool) {
	if s.RawSelector != "" {
		parsed, err := fields.ParseSelector(s.RawSelector)
		if err != nil {
			return nil, false
		}
		return parsed.Requirements(), true
	}
	ok = true
	for _, q := range s.Requirements {
		switch {
		case q.Operator == metav1.FieldSelectorOpIn && len(q.Values) == 1:
			read = append(read, fields.Requirement{Operator: selection.Equals, Field: q.Key, Value: q.Values[0]})
		case q.Operator == metav1.FieldSelectorOpNotIn && len(q.Values) == 1:
			read = append(read, fields.Requirement{Operator: selection.NotEquals, Field: q.Key, Value: q.Values[0]})
		default: // fields cannot be selected so yet
			ok = false
		}
	}
	return read, ok
}

var labelOperators = map[metav1.LabelSelectorOperator]selection.Operator{
	metav1.LabelSelectorOpIn: selection.In, metav1.LabelSelectorOpNotIn: selection.NotIn,
	metav1.LabelSelectorOpExists: selection.Exists, metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
}

// labelRequirements is fieldRequirements for labels.
func labelRequirements(s *authorizationv1.LabelSelectorAttributes) (read labels.Requirements, ok bool) {
	if s.RawSelector != "" {
		parsed, err := labels.ParseToRequirements(s.RawSelector)
		if err != nil {
			return nil, false
		}
		return parsed, true
	}
	ok = true
	for _, q := range s.Requirements {
		r, err := labels.NewRequirement(q.Key, labelOperators[q.Operator], q.Values)
		if err != nil {
			ok = false
			continue
		}
		read = append(read, *r)
	}
	return read, ok
}
