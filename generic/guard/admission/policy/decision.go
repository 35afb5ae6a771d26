package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/expression"
)

// maxMessage limits the bytes of a messageExpression's result.
const maxMessage = 5 * 1024

// decision is the result of all validating policies for one operation.
type decision struct {
	ctx         context.Context //nolint:containedctx // of the request
	config      *Config
	inputs      *expression.Inputs
	denied      *denial      // the first one
	auditRecord *auditRecord // nil if the request is not audited
}

func (v *decision) deny(d *denial) {
	if v.denied == nil {
		v.denied = d
	}
}

// misconfigured denies the request because a policy cannot be evaluated, unless its failurePolicy is Ignore.
func (v *decision) misconfigured(p *validatingPolicy, b *binding, err error) {
	if p.ignore {
		return
	}
	d := &denial{policy: p.name, message: fmt.Sprintf("failed to configure policy: %v", err),
		reason: metav1.StatusReasonInvalid}
	if b != nil {
		d.binding, d.message = b.name, fmt.Sprintf("failed to configure binding: %v", err)
	}
	v.deny(d)
}

func (v *decision) policy(p *validatingPolicy) {
	a := v.inputs.Attributes
	gv, ok, err := p.criteria.Match(v.ctx, a, v.inputs.Find)
	if err != nil {
		v.misconfigured(p, nil, err)
		return
	}
	if !ok {
		return
	}
	params, err := source(v.config.Params, p.params)
	if err != nil {
		v.misconfigured(p, nil, err)
		return
	}
	for _, b := range p.bindings {
		_, ok, err := b.criteria.Match(v.ctx, a, v.inputs.Find)
		if err != nil {
			v.misconfigured(p, b, err)
			continue
		}
		if !ok {
			continue
		}
		list, err := params.collect(v.ctx, v.config.Params, b.params, a.Namespace)
		if err != nil {
			v.misconfigured(p, b, err)
			continue
		}
		values, err := v.inputs.Values(gv)
		if err != nil {
			v.misconfigured(p, nil, err)
			return
		}
		for _, param := range list {
			v.evaluate(p, b, values, param)
		}
	}
}

// failed applies the actions of the binding to a validation that is false, or whose evaluation failed with err.
func (t *evaluation) failed(index int, message string, reason metav1.StatusReason, err error) {
	p, b, v := t.policy, t.binding, t.decision
	if b.audit {
		v.auditRecord.failure(p, b, index, message)
		t.count(admission.PolicyAudited, err)
	}
	if b.deny {
		v.deny(&denial{policy: p.name, binding: b.name, message: message, reason: reason})
		t.count(admission.PolicyDenied, err)
	}
	if b.warn {
		request.AddWarning(v.ctx, fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s",
			p.name, b.name, message))
		t.count(admission.PolicyWarned, err)
	}
}

// evaluationFailed applies the actions of the binding to a failed evaluation, unless the failurePolicy is
// Ignore.
func (t *evaluation) evaluationFailed(index int, err error) {
	if t.policy.ignore {
		t.count(admission.PolicyAllowed, err)
		return
	}
	t.failed(index, err.Error(), metav1.StatusReasonInvalid, err)
}

func (t *evaluation) count(action string, err error) {
	t.decision.config.Metrics.Policy(admission.Validating,
		admission.PolicyResult{Policy: t.policy.name, Binding: t.binding.name, ErrorType: errorType(err), Action: action},
		time.Since(t.start))
}

// errorType returns the metrics label for the error of an evaluation.
func errorType(err error) string {
	switch {
	case err == nil:
		return admission.PolicyNoError
	case errors.Is(err, expression.ErrBudget):
		return admission.PolicyOverBudget
	case errors.Is(err, expression.ErrCompile):
		return admission.PolicyCompileError
	}
	return admission.PolicyInvalidError
}

// evaluation is the evaluation of a policy with one of its bindings and params.
type evaluation struct {
	decision *decision
	policy   *validatingPolicy
	binding  *binding
	values   *expression.Values
	param    map[string]any
	start    time.Time
}

// evaluate evaluates a policy with one param object.
func (v *decision) evaluate(p *validatingPolicy, b *binding, values *expression.Values, param map[string]any) {
	t := &evaluation{v, p, b, values, param, time.Now()}
	ok, err := p.conditionsMatch(v.ctx, admission.Validating, v.config.Metrics, values, param)
	switch {
	case err != nil:
		t.evaluationFailed(0, err)
	case ok:
		t.validate()
		t.audit()
	}
}

// validate evaluates the validations. If they exceed the budget, only that error counts.
func (t *evaluation) validate() {
	type outcome struct {
		index int
		err   error
	}
	var outcomes []outcome
	e := t.newEvaluation()
	for i := range t.policy.validations {
		out, err := e.Evaluate(t.decision.ctx, t.policy.validations[i].Expression)
		switch {
		case errors.Is(err, expression.ErrBudget):
			t.evaluationFailed(i, err)
			return
		case err != nil || out != types.True:
			outcomes = append(outcomes, outcome{i, err})
		}
	}
	messages := make([]string, len(outcomes))
	var overBudget error
	for i, o := range outcomes {
		if o.err == nil && overBudget == nil {
			messages[i], overBudget = t.policy.validations[o.index].render(t.decision.ctx, e)
		}
	}
	for i, o := range outcomes {
		switch {
		case o.err != nil:
			t.evaluationFailed(o.index, o.err)
		case overBudget != nil:
			t.evaluationFailed(o.index, fmt.Errorf("failed messageExpression: %w", overBudget))
		default:
			t.failed(o.index, messages[i], t.policy.validations[o.index].reason, nil)
		}
	}
}

// audit evaluates the audit annotations, which have a separate budget. If they exceed it, only that error
// counts.
func (t *evaluation) audit() {
	if len(t.policy.audits) == 0 {
		return
	}
	e := t.newEvaluation()
	values, errs := make([]ref.Val, len(t.policy.audits)), []error(nil)
	for i, x := range t.policy.audits {
		out, err := e.Evaluate(t.decision.ctx, x.Expression)
		if errors.Is(err, expression.ErrBudget) {
			t.auditFailed(err)
			return
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		values[i] = out
	}
	for _, err := range errs {
		t.auditFailed(err)
	}
	for i, v := range values {
		if s, ok := v.(types.String); ok {
			t.decision.auditRecord.annotation(t.policy.audits[i].key, string(s))
		}
	}
}

// auditFailed denies the request because an audit annotation failed, unless the failurePolicy is Ignore.
func (t *evaluation) auditFailed(err error) {
	if t.policy.ignore {
		return
	}
	t.decision.deny(&denial{policy: t.policy.name, binding: t.binding.name, message: err.Error(),
		reason: metav1.StatusReasonInvalid})
	t.count(admission.PolicyDenied, err)
}

// newEvaluation returns an expression.Evaluation with a full budget and the policy's variables.
func (t *evaluation) newEvaluation() *expression.Evaluation {
	return expression.NewEvaluation(t.values, t.param, expression.PolicyBudget).WithVariables(t.decision.ctx,
		t.policy.variables)
}

// render returns the message of a failed validation. Its error is always that the budget is exceeded.
func (x *validation) render(ctx context.Context, e *expression.Evaluation) (string, error) {
	if x.messageExpression == nil {
		return x.message, nil
	}
	out, err := e.Evaluate(ctx, x.messageExpression)
	if errors.Is(err, expression.ErrBudget) {
		return "", err
	}
	s, ok := out.(types.String)
	m := strings.TrimSpace(string(s))
	if err != nil || !ok || m == "" || len(m) > maxMessage || strings.ContainsAny(m, "\n") {
		return x.message, nil
	}
	return m, nil
}
