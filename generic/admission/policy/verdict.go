package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane/generic/admission/expression"
	"triplane/generic/request"
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

// failed is what an expression that does not hold, or fails, leads to.
func (v *verdict) failed(p *validatingPolicy, b *binding, index int, message string, reason metav1.StatusReason) {
	if b.audit {
		v.recorded.failure(p, b, index, message)
	}
	if b.deny {
		v.deny(&denial{policy: p.name, binding: b.name, message: message, reason: reason})
	}
	if b.warn {
		request.AddWarning(v.ctx, fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", p.name, b.name, message))
	}
}

// evaluate evaluates a policy with one of its params.
func (v *verdict) evaluate(p *validatingPolicy, b *binding, values *expression.Values, param map[string]any) {
	index := 0
	fail := func(err error) {
		if !p.ignore {
			v.failed(p, b, index, err.Error(), metav1.StatusReasonInvalid)
		}
	}
	ok, err := p.conditions.Match(v.ctx, expression.NewEvaluation(values, param, expression.ConditionBudget))
	if err != nil {
		fail(err)
		return
	}
	if !ok {
		return
	}
	e := expression.NewEvaluation(values, param, expression.PolicyBudget).WithVariables(v.ctx, p.variables)
	for i := range p.validations {
		x := &p.validations[i]
		index = i
		out, err := e.Evaluate(v.ctx, x.Expression)
		switch {
		case errors.Is(err, expression.ErrBudget):
			fail(err)
			return
		case err != nil:
			fail(err)
		case out != types.True:
			v.failed(p, b, i, x.say(v.ctx, e), x.reason)
		}
	}
	for _, x := range p.audits {
		out, err := e.Evaluate(v.ctx, x.Expression)
		if err != nil && !p.ignore {
			v.deny(&denial{policy: p.name, binding: b.name, message: err.Error(), reason: metav1.StatusReasonInvalid})
		}
		if s, ok := out.(types.String); ok && err == nil {
			v.recorded.annotation(x.key, string(s))
		}
	}
}

// say is the validation's message.
func (x *validation) say(ctx context.Context, e *expression.Evaluation) string {
	if x.messageExpression == nil {
		return x.message
	}
	out, err := e.Evaluate(ctx, x.messageExpression)
	if err != nil {
		return x.message
	}
	s, ok := out.(types.String)
	m := strings.TrimSpace(string(s))
	if !ok || m == "" || len(m) > maxMessage || strings.ContainsAny(m, "\n") {
		return x.message
	}
	return m
}
