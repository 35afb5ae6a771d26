package admissionregistration

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"

	"triplane.dev/generic/guard/admission/expression"
	"triplane.dev/kubeapi/check"
)

// policyHead are the fields that policies of both kinds have.
type policyHead struct {
	failure    *admissionv1.FailurePolicyType
	param      *admissionv1.ParamKind
	match      *admissionv1.MatchResources
	mutates    bool
	conditions []admissionv1.MatchCondition
	variables  []admissionv1.Variable
}

func (h *policyHead) validate(x *expressions, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if h.failure == nil {
		errs = append(errs, field.Required(path.Child("failurePolicy"), ""))
	} else {
		errs = append(errs, check.OneOf(*h.failure, path.Child("failurePolicy"), admissionv1.Fail, admissionv1.Ignore)...)
	}
	if h.param != nil {
		errs = append(errs, validateParamKind(h.param, path.Child("paramKind"))...)
	}
	constraints := path.Child("matchConstraints")
	if h.match == nil {
		errs = append(errs, field.Required(constraints, ""))
	} else {
		errs = append(errs, validateMatch(h.match, constraints)...)
		if h.mutates {
			errs = append(errs, validateMutable(h.match, constraints)...)
		}
		if len(h.match.ResourceRules) == 0 {
			errs = append(errs, field.Required(constraints.Child("resourceRules"), ""))
		}
	}
	errs = append(errs, validateConditions(h.conditions, x, path.Child("matchConditions"))...)
	return append(errs, validateVariables(h.variables, x, path.Child("variables"))...)
}

func validatePolicy(ctx context.Context, p *admissionv1.ValidatingAdmissionPolicy) field.ErrorList {
	s, path, x := &p.Spec, field.NewPath("spec"), ofPolicy(ctx, p.Spec.ParamKind)
	head := policyHead{s.FailurePolicy, s.ParamKind, s.MatchConstraints, false, s.MatchConditions, s.Variables}
	errs := head.validate(x, path)
	if len(s.Validations) == 0 && len(s.AuditAnnotations) == 0 {
		const atLeastOne = "validations or auditAnnotations must contain at least one item"
		return append(errs, field.Required(path.Child("validations"), atLeastOne),
			field.Required(path.Child("auditAnnotations"), atLeastOne))
	}
	for i := range s.Validations {
		errs = append(errs, validateValidation(&s.Validations[i], x, path.Child("validations").Index(i))...)
	}
	return append(errs, validateAudit(p.Name, s.AuditAnnotations, x, path.Child("auditAnnotations"))...)
}

func validateAudit(policy string, list []admissionv1.AuditAnnotation, x *expressions,
	path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(list) > maxAuditAnnotations {
		errs = append(errs, field.Invalid(path, list, fmt.Sprintf("must not have more than %d auditAnnotations",
			maxAuditAnnotations)))
	}
	seen := map[string]bool{}
	for i, a := range list {
		at := path.Index(i)
		if policy == "" {
			errs = append(errs, field.Invalid(at.Child("key"), a.Key, "requires metadata.name be non-empty"))
		} else {
			errs = append(errs, check.QualifiedName(policy+"/"+a.Key, at.Child("key"))...)
		}
		switch value := strings.TrimSpace(a.ValueExpression); {
		case value == "":
			errs = append(errs, field.Required(at.Child("valueExpression"), "valueExpression is not specified"))
		case len(value) > maxValueExpression:
			errs = append(errs, field.Required(at.Child("valueExpression"), fmt.Sprintf("must not exceed %d bytes in length",
				maxValueExpression)))
		default:
			errs = append(errs, x.check(x.scope, a.ValueExpression, at.Child("valueExpression"), types.StringType,
				types.NullType)...)
		}
		if seen[a.Key] {
			errs = append(errs, field.Duplicate(at.Child("key"), a.Key))
		}
		seen[a.Key] = true
	}
	return errs
}

func validateValidation(v *admissionv1.Validation, x *expressions, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if strings.TrimSpace(v.Expression) == "" {
		errs = append(errs, field.Required(path.Child("expression"), "expression is not specified"))
	} else {
		errs = append(errs, x.condition(v.Expression, path.Child("expression"))...)
	}
	switch m := path.Child("messageExpression"); {
	case v.MessageExpression == "":
	case strings.TrimSpace(v.MessageExpression) == "":
		errs = append(errs, field.Invalid(m, v.MessageExpression, "must be non-empty if specified"))
	default:
		errs = append(errs, x.message(v.MessageExpression, m)...)
	}
	if m := v.Message; m != "" {
		if strings.TrimSpace(m) == "" {
			errs = append(errs, field.Invalid(path.Child("message"), m, "must be non-empty if specified"))
		} else if strings.Contains(strings.TrimSpace(m), "\n") {
			errs = append(errs, field.Invalid(path.Child("message"), m, "must not contain line breaks"))
		}
	}
	if v.Reason != nil {
		errs = append(errs, check.OneOf(*v.Reason, path.Child("reason"), metav1.StatusReasonForbidden,
			metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge)...)
	}
	return errs
}

func validateParamKind(k *admissionv1.ParamKind, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	version := path.Child("apiVersion")
	if k.APIVersion == "" {
		errs = append(errs, field.Required(version, ""))
	} else if gv, err := schema.ParseGroupVersion(k.APIVersion); err != nil {
		errs = append(errs, field.Invalid(version, k.APIVersion, err.Error()))
	} else {
		if gv.Group != "" {
			errs = append(errs, check.Subdomain(gv.Group, version)...)
		}
		if gv.Version == "" {
			errs = append(errs, field.Invalid(version, k.APIVersion, "version must be specified"))
		} else {
			errs = append(errs, check.Name(validation.IsDNS1035Label(gv.Version), gv.Version, version)...)
		}
	}
	if k.Kind == "" {
		return append(errs, field.Required(path.Child("kind"), ""))
	}
	if msgs := validation.IsDNS1035Label(strings.ToLower(k.Kind)); len(msgs) > 0 {
		errs = append(errs, field.Invalid(path.Child("kind"), k.Kind, "may have mixed case, but should otherwise match: "+
			strings.Join(msgs, ",")))
	}
	return errs
}

// reserved are the words that CEL keeps for itself.
const reserved = " true false null in as break const continue else for function if import let loop package namespace return var void while "

func validateVariables(list []admissionv1.Variable, x *expressions, path *field.Path) field.ErrorList {
	identifier := regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)
	var errs field.ErrorList
	if len(list) > 0 {
		x.declare()
	}
	for i, v := range list {
		at := path.Index(i)
		named := identifier.MatchString(v.Name) && !strings.Contains(reserved, " "+v.Name+" ")
		switch {
		case strings.TrimSpace(v.Name) == "":
			errs = append(errs, field.Required(at.Child("name"), "name is not specified"))
		case !named:
			errs = append(errs, field.Invalid(at.Child("name"), v.Name, "must be a valid CEL identifier"))
		}
		if strings.TrimSpace(v.Expression) == "" {
			errs = append(errs, field.Required(at.Child("expression"), "expression is not specified"))
		} else {
			errs = append(errs, x.variable(&v, at.Child("expression"))...)
		}
	}
	return errs
}

func validateMutatingPolicy(ctx context.Context, p *admissionv1.MutatingAdmissionPolicy) field.ErrorList {
	s, path, x := &p.Spec, field.NewPath("spec"), ofPolicy(ctx, p.Spec.ParamKind)
	head := policyHead{s.FailurePolicy, s.ParamKind, s.MatchConstraints, true, s.MatchConditions, s.Variables}
	errs := head.validate(x, path)
	x.scope.Mutation = true
	x.declare()
	mutations := path.Child("mutations")
	if len(s.Mutations) == 0 {
		errs = append(errs, field.Required(mutations, "mutations must contain at least one item"))
	}
	for i := range s.Mutations {
		errs = append(errs, validateMutation(&s.Mutations[i], x, mutations.Index(i))...)
	}
	if s.ReinvocationPolicy == "" {
		return append(errs, field.Required(path.Child("reinvocationPolicy"), ""))
	}
	return append(errs, check.OneOf(s.ReinvocationPolicy, path.Child("reinvocationPolicy"),
		admissionv1.IfNeededReinvocationPolicy, admissionv1.NeverReinvocationPolicy)...)
}

// validateMutation validates that a mutation has the patch that its type names
// and no other.
func validateMutation(m *admissionv1.Mutation, x *expressions, path *field.Path) field.ErrorList {
	const apply, patch = "applyConfiguration", "jsonPatch"
	var errs field.ErrorList
	switch m.PatchType {
	case "":
		errs = append(errs, field.Required(path.Child("patchType"), ""))
	case admissionv1.PatchTypeApplyConfiguration:
		if m.ApplyConfiguration == nil {
			errs = append(errs, patchRequired(m.PatchType, path.Child(apply)))
		} else {
			errs = append(errs, x.patch(m.ApplyConfiguration.Expression, expression.ObjectType,
				path.Child(apply, "expression"))...)
		}
		if m.JSONPatch != nil {
			errs = append(errs, otherPatch(m.PatchType, patch, path))
		}
	case admissionv1.PatchTypeJSONPatch:
		if m.JSONPatch == nil {
			errs = append(errs, patchRequired(m.PatchType, path.Child(patch)))
		} else {
			errs = append(errs, x.patch(m.JSONPatch.Expression, expression.Patches, path.Child(patch, "expression"))...)
		}
		if m.ApplyConfiguration != nil {
			errs = append(errs, otherPatch(m.PatchType, apply, path))
		}
	default:
		errs = check.OneOf(m.PatchType, path.Child("patchType"), admissionv1.PatchTypeApplyConfiguration,
			admissionv1.PatchTypeJSONPatch)
	}
	return errs
}

func patchRequired(of admissionv1.PatchType, path *field.Path) *field.Error {
	return field.Required(path, fmt.Sprintf("must be specified when patchType is %s", of))
}

// otherPatch refuses the patch that is not of the type. The message shows its
// name for a value.
func otherPatch(of admissionv1.PatchType, name string, path *field.Path) *field.Error {
	return field.Invalid(path.Child(name), "{"+name+"}", fmt.Sprintf("must not be specified when patchType is %s", of))
}

func validatePolicyStatus(p *admissionv1.ValidatingAdmissionPolicy) field.ErrorList {
	s := &p.Status
	path := field.NewPath("status")
	var errs field.ErrorList
	if s.TypeChecking != nil {
		for i, w := range s.TypeChecking.ExpressionWarnings {
			errs = append(errs, validateWarning(&w, path.Child("typeChecking", "expressionWarnings").Index(i))...)
		}
	}
	return append(errs, metavalidation.ValidateConditions(s.Conditions, path.Child("conditions"))...)
}

func validateWarning(w *admissionv1.ExpressionWarning, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if w.Warning == "" {
		errs = append(errs, field.Required(path.Child("warning"), ""))
	}
	if ref := strings.TrimSpace(w.FieldRef); ref == "" {
		errs = append(errs, field.Required(path.Child("fieldRef"), ""))
	} else if err := jsonpath.New("fieldRef").Parse("{" + ref + "}"); err != nil {
		errs = append(errs, field.Invalid(path.Child("fieldRef"), w.FieldRef, fmt.Sprintf("invalid JSONPath: %v", err)))
	}
	return errs
}
