package policy

import (
	"strings"

	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/guard/admission/expression"
	"triplane.dev/generic/guard/admission/match"
)

// validatingPolicy is a compiled ValidatingAdmissionPolicy.
type validatingPolicy struct {
	base
	validations []validation
	audits      []auditAnnotation
}

// auditAnnotation is an expression whose value becomes an annotation of audit events.
type auditAnnotation struct {
	*expression.Expression
	key string
}

// validation is one entry of a policy's validations.
type validation struct {
	*expression.Expression
	message           string // if messageExpression has no usable result
	messageExpression *expression.Expression
	reason            metav1.StatusReason
}

func compileValidating(p *admissionv1.ValidatingAdmissionPolicy) (*validatingPolicy, error) {
	c, err := expression.NewCompiler()
	if err != nil {
		return nil, err
	}
	out := &validatingPolicy{base: base{name: p.Name}}
	scope, err := out.compile(c, p.Spec.FailurePolicy, p.Spec.MatchConstraints, p.Spec.ParamKind, p.Spec.MatchConditions)
	if err != nil {
		return nil, err
	}
	out.declare(c, scope, p.Spec.Variables)
	quiet := scope
	quiet.Authorizer = false
	for i := range p.Spec.Validations {
		out.validations = append(out.validations, newValidation(c, scope, quiet, &p.Spec.Validations[i]))
	}
	for i := range p.Spec.AuditAnnotations {
		out.audits = append(out.audits, auditAnnotation{
			c.Compile(scope, p.Spec.AuditAnnotations[i].ValueExpression, types.StringType, types.NullType),
			p.Name + "/" + p.Spec.AuditAnnotations[i].Key})
	}
	return out, nil
}

func newValidation(c *expression.Compiler, scope, quiet expression.Scope, v *admissionv1.Validation) validation {
	out := validation{
		Expression: c.Compile(scope, v.Expression, types.BoolType),
		message:    strings.TrimSpace(v.Message),
		reason:     metav1.StatusReasonInvalid,
	}
	if out.message == "" {
		out.message = "failed expression: " + strings.TrimSpace(v.Expression)
	}
	if v.MessageExpression != "" {
		out.messageExpression = c.Compile(quiet, v.MessageExpression, types.StringType)
	}
	if v.Reason != nil && *v.Reason != "" {
		out.reason = *v.Reason
	}
	return out
}

func (p *validatingPolicy) with(bindings []*binding) *validatingPolicy {
	c := *p
	c.bindings = bindings
	return &c
}

func compileValidatingBinding(b *admissionv1.ValidatingAdmissionPolicyBinding) (*binding, error) {
	criteria, err := match.New(b.Spec.MatchResources)
	if err != nil {
		return nil, err
	}
	out := &binding{name: b.Name, policy: b.Spec.PolicyName, criteria: criteria, params: b.Spec.ParamRef,
		actions: b.Spec.ValidationActions}
	for _, a := range b.Spec.ValidationActions {
		switch a {
		case admissionv1.Deny:
			out.deny = true
		case admissionv1.Warn:
			out.warn = true
		case admissionv1.Audit:
			out.audit = true
		}
	}
	return out, nil
}
