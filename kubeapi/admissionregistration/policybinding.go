package admissionregistration

import (
	"context"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
)

func validatingBindingKind(r rules) kind.Kind[*admissionv1.ValidatingAdmissionPolicyBinding] {
	type binding = *admissionv1.ValidatingAdmissionPolicyBinding
	k := configuration(r,
		func(_ context.Context, b binding) field.ErrorList {
			return slices.Concat(validateBinding(b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources),
				validateActions(b.Spec.ValidationActions), requirePolicy(b.Spec.PolicyName),
				requireActions(b.Spec.ValidationActions))
		}, r.params.validatingBinding)
	k.Representation = kept(kind.Typed[binding]{
		Versions: kind.SameFields[binding](beta1),
		Former:   kind.SameFields[binding](alpha1),
	})
	k.Write.Default = func(b binding) { defaultMatch(b.Spec.MatchResources) }
	k.Columns = bindingColumns(func(b binding) string { return paramRef(b.Spec.ParamRef) })

	return k
}

func mutatingBindingKind(r rules) kind.Kind[*admissionv1.MutatingAdmissionPolicyBinding] {
	type binding = *admissionv1.MutatingAdmissionPolicyBinding
	k := configuration(r,
		func(_ context.Context, b binding) field.ErrorList {
			return slices.Concat(requirePolicy(b.Spec.PolicyName),
				validateBinding(b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources),
				validateMutable(b.Spec.MatchResources, field.NewPath("spec", "matchResources")))
		}, r.params.mutatingBinding)
	versions := kind.SameFields[binding](beta1, alpha1)
	versions[1].Default = kind.DefaultOf(defaultNotFound)
	k.Representation = kept(kind.Typed[binding]{Versions: versions})
	k.Write.Default = func(b binding) { defaultMatch(b.Spec.MatchResources) }
	k.Columns = bindingColumns(func(b binding) string { return paramRef(b.Spec.ParamRef) })

	return k
}

// defaultNotFound is a default of v1alpha1 alone.
func defaultNotFound(b *admissionv1.MutatingAdmissionPolicyBinding) {
	if r := b.Spec.ParamRef; r != nil {
		defaults.Set(&r.ParameterNotFoundAction, admissionv1.DenyAction)
	}
}

func bindingColumns[T kind.Object](ref func(T) string) []kind.Column {
	return show.Columns(
		show.Field("PolicyName", "spec.policyName",
			"PolicyName indicates the policy definition which the policy binding binded to"),
		show.Cell("ParamRef", "ParamRef indicates the param resource which sets the configuration param", ref))
}

func paramRef(r *admissionv1.ParamRef) string {
	switch {
	case r == nil:
		return show.Unset
	case r.Name == "":
		return r.Selector.String()
	case r.Namespace != "":
		return r.Namespace + "/" + r.Name
	}
	return "*/" + r.Name
}

func requirePolicy(name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(field.NewPath("spec", "policyName"), "")}
	}
	return nil
}

func validateBinding(policy string, ref *admissionv1.ParamRef, match *admissionv1.MatchResources) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if policy != "" {
		errs = append(errs, check.Subdomain(policy, path.Child("policyName"))...)
	}
	if ref != nil {
		errs = append(errs, validateParamRef(ref, path.Child("paramRef"))...)
	}
	if match != nil {
		errs = append(errs, validateMatch(match, path.Child("matchResources"))...)
	}
	return errs
}

func validateParamRef(r *admissionv1.ParamRef, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.Name != "" {
		errs = append(errs, check.PathSegment(r.Name, path.Child("name"))...)
	}
	const exclusive = "name and selector are mutually exclusive"
	both := r.Name != "" && r.Selector != nil
	if both {
		errs = append(errs, field.Forbidden(path.Child("name"), exclusive))
	}
	errs = append(errs, validateSelector(r.Selector, path.Child("selector"))...)
	switch {
	case both:
		errs = append(errs, field.Forbidden(path.Child("selector"), exclusive))
	case r.Name == "" && r.Selector == nil:
		errs = append(errs, field.Required(path, "one of name or selector must be specified"))
	}
	action := path.Child("parameterNotFoundAction")
	if r.ParameterNotFoundAction == nil || *r.ParameterNotFoundAction == "" {
		return append(errs, field.Required(action, ""))
	}
	return append(errs, check.OneOf(*r.ParameterNotFoundAction, action, admissionv1.DenyAction,
		admissionv1.AllowAction)...)
}

func requireActions(list []admissionv1.ValidationAction) field.ErrorList {
	if len(list) == 0 {
		return field.ErrorList{field.Required(field.NewPath("spec", "validationActions"), "")}
	}
	return nil
}

func validateActions(list []admissionv1.ValidationAction) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("spec", "validationActions")
	for i, a := range list {
		errs = append(errs, check.OneOf(a, path.Index(i), admissionv1.Audit, admissionv1.Deny, admissionv1.Warn)...)
		if slices.Contains(list[:i], a) {
			errs = append(errs, field.Duplicate(path.Index(i), a))
		}
	}
	if slices.Contains(list, admissionv1.Deny) && slices.Contains(list, admissionv1.Warn) {
		errs = append(errs, field.Invalid(path, list,
			"must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"))
	}
	return errs
}
