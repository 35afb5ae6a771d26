package admissionregistration

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/defaults"
)

const (
	maxAuditAnnotations = 20
	maxValueExpression  = 5 * 1024

	paramKindDoc = "ParamKind specifies the kind of resources used to parameterize this policy"
)

func validatingPolicyKind(r rules) kind.Kind[*admissionv1.ValidatingAdmissionPolicy] {
	type policy = *admissionv1.ValidatingAdmissionPolicy
	k := configuration(r, validatePolicy, r.params.validatingPolicy)
	k.Representation = kept(kind.Typed[policy]{
		Versions: kind.SameFields[policy](beta1),
		Former:   kind.SameFields[policy](alpha1),
	})
	k.Write.Default = func(p policy) {
		defaults.Set(&p.Spec.FailurePolicy, admissionv1.Fail)
		defaultMatch(p.Spec.MatchConstraints)
	}
	k.Columns = show.Columns(show.Field("Validations", "spec.validations",
		"Validations indicates the number of validation rules defined in this configuration"),
		show.Cell("ParamKind", paramKindDoc, func(p policy) string { return paramKind(p.Spec.ParamKind) }))

	k.Status = &kind.Subresource[policy]{
		Metadata: kind.ClientMetadata,
		Validate: kind.Whole(validatePolicyStatus),
	}
	return k
}

func paramKind(k *admissionv1.ParamKind) string {
	if k == nil {
		return show.Unset
	}
	return k.APIVersion + "/" + k.Kind
}

func mutatingPolicyKind(r rules) kind.Kind[*admissionv1.MutatingAdmissionPolicy] {
	type policy = *admissionv1.MutatingAdmissionPolicy
	k := configuration(r, validateMutatingPolicy, r.params.mutatingPolicy)
	k.Representation = inVersions[policy]()
	k.Write.Default = func(p policy) {
		defaults.Set(&p.Spec.FailurePolicy, admissionv1.Fail)
		defaultMatch(p.Spec.MatchConstraints)
	}
	k.Columns = show.Columns(show.Field("Mutations", "spec.mutations",
		"Mutation indicates the number of mutations rules defined in this configuration"),
		show.Cell("ParamKind", paramKindDoc, func(p policy) string { return paramKind(p.Spec.ParamKind) }))

	return k
}
