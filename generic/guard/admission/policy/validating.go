package policy

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/expression"
	"triplane.dev/generic/guard/audit"
)

// Validating is the admission plugin ValidatingAdmissionPolicy. It is safe for concurrent use.
type Validating struct {
	catalogues[*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding, *validatingPolicy]
	config Config
}

// NewValidating returns a plugin without policies.
func NewValidating(c Config) *Validating {
	p := &Validating{config: c}
	p.init(c.Gate, compileValidating, compileValidatingBinding)
	c.Metrics.FollowPolicies(admission.Validating, p.names)
	return p
}

// Handles implements admission.Interface. Without policies the plugin handles nothing.
func (p *Validating) Handles(admission.Operation) bool {
	return !p.idle()
}

// Validate implements admission.ValidatingInterface. It evaluates all policies and returns the first denial.
func (p *Validating) Validate(ctx context.Context, a *admission.Attributes) error {
	policies, err := p.policiesFor(ctx, a)
	if len(policies) == 0 || err != nil {
		return err
	}
	v := &decision{ctx: ctx, config: &p.config, inputs: expression.NewInputs(ctx, a, p.config.Authorizer,
		p.config.Namespaces)}
	rec := audit.RecordFrom(ctx)
	if rec != nil {
		v.auditRecord = &auditRecord{}
	}
	for _, policy := range policies {
		v.policy(policy)
	}
	v.auditRecord.annotate(rec)
	if v.denied == nil {
		return nil
	}
	return v.denied.status(a)
}

// denial is the result of a failed validation with the action Deny.
type denial struct {
	policy, binding string
	message         string
	reason          metav1.StatusReason
}

func (d *denial) status(a *admission.Attributes) error {
	message := fmt.Sprintf("ValidatingAdmissionPolicy '%s' denied request: %s", d.policy, d.message)
	if d.binding != "" {
		message = fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", d.policy, d.binding,
			d.message)
	}
	err := admission.Forbidden(a, errors.New(message))
	err.ErrStatus.Reason, err.ErrStatus.Code = d.reason, code(d.reason)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Message: message})
	return err
}

func code(reason metav1.StatusReason) int32 {
	switch reason {
	case metav1.StatusReasonForbidden:
		return http.StatusForbidden
	case metav1.StatusReasonUnauthorized:
		return http.StatusUnauthorized
	case metav1.StatusReasonRequestEntityTooLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusUnprocessableEntity
}
