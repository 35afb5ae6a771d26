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

	"triplane/generic/base/metrics"
	"triplane/generic/base/request"
	"triplane/generic/guard/admission/expression"
)

// maxMessage bounds what a messageExpression may say, in bytes.
const maxMessage = 5 * 1024

// verdict is what validating policies say about one operation.
type verdict struct {
	ctx       context.Context //nolint:containedctx // of the request
	config    *Config
	judgement *expression.Judgement
	denied    *denial   // the first
	recorded  *recorded // nil where the request is not audited
}

func (v *verdict) deny(d *denial) {
	if v.denied == nil {
		v.denied = d
	}
}

// misconfigured denies because a policy cannot be evaluated.
func (v *verdict) misconfigured(p *validatingPolicy, b *binding, err error) {
	if p.ignore {
		return
	}
	d := &denial{policy: p.name, message: fmt.Sprintf("failed to configure policy: %v", err), reason: metav1.StatusReasonInvalid}
	if b != nil {
		d.binding, d.message = b.name, fmt.Sprintf("failed to configure binding: %v", err)
	}
	v.deny(d)
}

func (v *verdict) policy(p *validatingPolicy) {
	a := v.judgement.Attributes
	gv, ok, err := p.criteria.Match(v.ctx, a, v.judgement.Find)
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
		_, ok, err := b.criteria.Match(v.ctx, a, v.judgement.Find)
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
		values, err := v.judgement.Values(gv)
		if err != nil {
			v.misconfigured(p, nil, err)
			return
		}
		for _, param := range list {
			v.evaluate(p, b, values, param)
		}
	}
}

// failed is what an expression that does not hold, or fails, leads to. err is nil
// where it does not hold.
func (t *trial) failed(index int, message string, reason metav1.StatusReason, err error) {
	p, b, v := t.policy, t.binding, t.verdict
	if b.audit {
		v.recorded.failure(p, b, index, message)
		t.count(metrics.PolicyAudited, err)
	}
	if b.deny {
		v.deny(&denial{policy: p.name, binding: b.name, message: message, reason: reason})
		t.count(metrics.PolicyDenied, err)
	}
	if b.warn {
		request.AddWarning(v.ctx, fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", p.name, b.name, message))
		t.count(metrics.PolicyWarned, err)
	}
}

// wrong is failed for an expression that cannot be evaluated, unless failures are
// ignored.
func (t *trial) wrong(index int, err error) {
	if t.policy.ignore {
		t.count(metrics.PolicyAllowed, err)
		return
	}
	t.failed(index, err.Error(), metav1.StatusReasonInvalid, err)
}

func (t *trial) count(action string, err error) {
	t.verdict.config.Metrics.Policy(metrics.Validate, t.policy.name, t.binding.name, errorType(err), action, time.Since(t.start))
}

// errorType is why an evaluation failed, as metrics call it.
func errorType(err error) string {
	switch {
	case err == nil:
		return metrics.PolicyNoError
	case errors.Is(err, expression.ErrBudget):
		return metrics.PolicyOverBudget
	case errors.Is(err, expression.ErrCompile):
		return metrics.PolicyCompileError
	}
	return metrics.PolicyInvalidError
}

// trial is the evaluation of a policy with one of its bindings and params.
type trial struct {
	verdict *verdict
	policy  *validatingPolicy
	binding *binding
	values  *expression.Values
	param   map[string]any
	start   time.Time
}

// evaluate evaluates a policy with one of its params.
func (v *verdict) evaluate(p *validatingPolicy, b *binding, values *expression.Values, param map[string]any) {
	t := &trial{v, p, b, values, param, time.Now()}
	ok, err := p.conditionsMatch(v.ctx, metrics.Validate, v.config.Metrics, values, param)
	switch {
	case err != nil:
		t.wrong(0, err)
	case ok:
		t.validate()
		t.audit()
	}
}

// validate evaluates the validations. When they cost more than they may, that is all
// that counts, whatever some of them were.
func (t *trial) validate() {
	type outcome struct {
		index int
		err   error
	}
	var outcomes []outcome
	e := t.evaluation()
	for i := range t.policy.validations {
		out, err := e.Evaluate(t.verdict.ctx, t.policy.validations[i].Expression)
		switch {
		case errors.Is(err, expression.ErrBudget):
			t.wrong(i, err)
			return
		case err != nil || out != types.True:
			outcomes = append(outcomes, outcome{i, err})
		}
	}
	messages := make([]string, len(outcomes))
	var overBudget error
	for i, o := range outcomes {
		if o.err == nil && overBudget == nil {
			messages[i], overBudget = t.policy.validations[o.index].say(t.verdict.ctx, e)
		}
	}
	for i, o := range outcomes {
		switch {
		case o.err != nil:
			t.wrong(o.index, o.err)
		case overBudget != nil:
			t.wrong(o.index, fmt.Errorf("failed messageExpression: %w", overBudget))
		default:
			t.failed(o.index, messages[i], t.policy.validations[o.index].reason, nil)
		}
	}
}

// audit evaluates the audit annotations, which have a budget of their own. As with validations,
// nothing else counts when they cost more.
func (t *trial) audit() {
	if len(t.policy.audits) == 0 {
		return
	}
	e := t.evaluation()
	values, errs := make([]ref.Val, len(t.policy.audits)), []error(nil)
	for i, x := range t.policy.audits {
		out, err := e.Evaluate(t.verdict.ctx, x.Expression)
		if errors.Is(err, expression.ErrBudget) {
			t.unaudited(err)
			return
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		values[i] = out
	}
	for _, err := range errs {
		t.unaudited(err)
	}
	for i, v := range values {
		if s, ok := v.(types.String); ok {
			t.verdict.recorded.annotation(t.policy.audits[i].key, string(s))
		}
	}
}

// unaudited denies because an audit annotation cannot be evaluated, unless failures are ignored.
func (t *trial) unaudited(err error) {
	if t.policy.ignore {
		return
	}
	t.verdict.deny(&denial{policy: t.policy.name, binding: t.binding.name, message: err.Error(), reason: metav1.StatusReasonInvalid})
	t.count(metrics.PolicyDenied, err)
}

// evaluation begins one with the policy's variables.
func (t *trial) evaluation() *expression.Evaluation {
	return expression.NewEvaluation(t.values, t.param, expression.PolicyBudget).WithVariables(t.verdict.ctx, t.policy.variables)
}

// say is the validation's message. Its error is that the budget does not suffice for it.
func (x *validation) say(ctx context.Context, e *expression.Evaluation) (string, error) {
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
