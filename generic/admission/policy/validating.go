package policy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane/generic/admission"
	"triplane/generic/admission/expression"
	"triplane/generic/admission/match"
	"triplane/generic/request"
)

// Validating judges by ValidatingAdmissionPolicies. It is safe for concurrent
// use.
type Validating struct {
	config   Config
	policies atomic.Pointer[[]*validatingPolicy] // nil where there are none

	mu       sync.Mutex // for Set
	known    map[*admissionv1.ValidatingAdmissionPolicy]*validatingPolicy
	bindings map[*admissionv1.ValidatingAdmissionPolicyBinding]*binding
}

// NewValidating returns a plugin that knows no policies yet.
func NewValidating(c Config) *Validating { return &Validating{config: c} }

// Handles implements admission.Interface: any operation, if there is a policy.
func (p *Validating) Handles(admission.Operation) bool {
	return p.policies.Load() != nil || !p.config.Gate.IsOpen()
}

// Set replaces all policies and bindings. Policies without a binding do nothing.
func (p *Validating) Set(policies []*admissionv1.ValidatingAdmissionPolicy, bindings []*admissionv1.ValidatingAdmissionPolicyBinding) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ordered []*admissionv1.ValidatingAdmissionPolicy
	var bound []*admissionv1.ValidatingAdmissionPolicyBinding
	p.known, ordered = update(p.known, policies, compileValidating)
	p.bindings, bound = update(p.bindings, bindings, compileValidatingBinding)
	of := map[string][]*binding{}
	for _, b := range bound {
		of[b.Spec.PolicyName] = append(of[b.Spec.PolicyName], p.bindings[b])
	}
	var active []*validatingPolicy
	for _, o := range ordered {
		if b := of[o.Name]; len(b) > 0 {
			c := *p.known[o]
			c.head.bindings = b
			active = append(active, &c)
		}
	}
	if len(active) == 0 {
		p.policies.Store(nil)
		return
	}
	p.policies.Store(&active)
}

// Validate implements admission.ValidatingInterface. All policies are evaluated;
// the first that denies is heard.
func (p *Validating) Validate(ctx context.Context, a *admission.Attributes) error {
	if match.Exempt(a) || match.Review(a) {
		return nil
	}
	if err := p.config.Gate.Wait(ctx, a); err != nil {
		return err
	}
	policies := p.policies.Load()
	if policies == nil {
		return nil
	}
	v := &verdict{ctx: ctx, config: &p.config, judgement: expression.NewJudgement(ctx, a, p.config.Authorizer, p.config.Namespaces)}
	rec := request.AuditFrom(ctx)
	if rec != nil {
		v.recorded = &recorded{}
	}
	for _, policy := range *policies {
		v.policy(policy)
	}
	v.recorded.annotate(rec)
	if v.denied == nil {
		return nil
	}
	return v.denied.status(a)
}

// denial is a decision against the operation.
type denial struct {
	policy, binding string
	message         string
	reason          metav1.StatusReason
}

func (d *denial) status(a *admission.Attributes) error {
	message := fmt.Sprintf("ValidatingAdmissionPolicy '%s' denied request: %s", d.policy, d.message)
	if d.binding != "" {
		message = fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", d.policy, d.binding, d.message)
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
