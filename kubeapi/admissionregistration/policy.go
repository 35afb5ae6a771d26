package admissionregistration

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/defaults"
	"triplane.dev/kubeapi/show"
)

const (
	maxAuditAnnotations = 20
	maxValueExpression  = 5 * 1024
)

func validatingPolicyKind(r rules) kind.Kind[*admissionv1.ValidatingAdmissionPolicy] {
	type policy = *admissionv1.ValidatingAdmissionPolicy
	k := configuration("ValidatingAdmissionPolicy", "validatingadmissionpolicies", r, validatePolicy,
		r.params.validatingPolicy)
	k.Representation = kept(kind.Typed[policy]{
		Versions: kind.SameFields[policy]("ValidatingAdmissionPolicy", beta1),
		Former:   kind.SameFields[policy]("ValidatingAdmissionPolicy", alpha1),
	})
	k.Write.Default = func(p policy) {
		defaults.Set(&p.Spec.FailurePolicy, admissionv1.Fail)
		defaultMatch(p.Spec.MatchConstraints)
	}
	k.Show.Columns = []kind.Column{
		show.Name(),
		show.Int("Validations", "Validations indicates the number of validation rules defined in this configuration"),
		show.Text("ParamKind", "ParamKind specifies the kind of resources used to parameterize this policy"),
		show.Age(),
	}
	k.Show.Cells = func(p policy, since func(metav1.Time) string) []any {
		return []any{p.Name, int64(len(p.Spec.Validations)), paramKind(p.Spec.ParamKind), since(p.CreationTimestamp)}
	}
	k.Status = &kind.StatusSubresource[policy]{
		Metadata:       kind.ClientMetadata,
		ValidateUpdate: func(_ context.Context, p, _ policy) field.ErrorList { return validatePolicyStatus(&p.Status) },
	}
	return k
}

func paramKind(k *admissionv1.ParamKind) string {
	if k == nil {
		return unset
	}
	return k.APIVersion + "/" + k.Kind
}

func mutatingPolicyKind(r rules) kind.Kind[*admissionv1.MutatingAdmissionPolicy] {
	type policy = *admissionv1.MutatingAdmissionPolicy
	k := configuration("MutatingAdmissionPolicy", "mutatingadmissionpolicies", r, validateMutatingPolicy,
		r.params.mutatingPolicy)
	k.Representation = inVersions[policy]("MutatingAdmissionPolicy")
	k.Write.Default = func(p policy) {
		defaults.Set(&p.Spec.FailurePolicy, admissionv1.Fail)
		defaultMatch(p.Spec.MatchConstraints)
	}
	k.Show.Columns = []kind.Column{
		show.Name(),
		show.Int("Mutations", "Mutation indicates the number of mutations rules defined in this configuration"),
		show.Text("ParamKind", "ParamKind specifies the kind of resources used to parameterize this policy"),
		show.Age(),
	}
	k.Show.Cells = func(p policy, since func(metav1.Time) string) []any {
		return []any{p.Name, int64(len(p.Spec.Mutations)), paramKind(p.Spec.ParamKind), since(p.CreationTimestamp)}
	}
	return k
}
