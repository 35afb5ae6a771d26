package policy

import (
	"context"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/expression"
	"triplane.dev/generic/guard/admission/match"
)

// Config configures both plugins.
type Config struct {
	// Namespaces returns a namespace, for selectors and expressions.
	Namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)
	// Authorizer is the variable authorizer of expressions; nil allows all.
	Authorizer authorizer.Authorizer
	// Params reads param objects; nil has none.
	Params Params
	// Metrics counts evaluations; nil disables metrics.
	Metrics *admission.Metrics
	// Gate opens when the stored policies are synced.
	Gate *admission.Gate
}

// base is the compiled part that policies of both kinds have in common.
type base struct {
	name       string
	criteria   *match.Criteria
	ignore     bool // failurePolicy is Ignore
	params     *schema.GroupVersionKind
	conditions expression.Conditions
	variables  []expression.Variable
	bindings   []*binding
}

// names implements compiled.
func (h *base) names() (policy string, bindings []string) {
	for _, b := range h.bindings {
		bindings = append(bindings, b.name)
	}
	return h.name, bindings
}

// binding is a compiled policy binding.
type binding struct {
	name              string
	policy            string // name of the policy
	criteria          *match.Criteria
	params            *admissionv1.ParamRef
	deny, warn, audit bool
	actions           []admissionv1.ValidationAction // as the binding lists them
}

func (h *base) compile(c *expression.Compiler, failure *admissionv1.FailurePolicyType, m *admissionv1.MatchResources,
	params *admissionv1.ParamKind, conditions []admissionv1.MatchCondition) (expression.Scope, error) {
	var err error
	if h.criteria, err = match.New(m); err != nil {
		return expression.Scope{}, err
	}
	h.ignore = failure != nil && *failure == admissionv1.Ignore
	h.params = paramKind(params)
	s := expression.Scope{Params: params != nil, Authorizer: true}
	h.conditions = c.Conditions(s, conditions)
	return s, nil
}

// declare compiles the policy's variables. Expressions that are compiled afterwards can use them.
func (h *base) declare(c *expression.Compiler, s expression.Scope, variables []admissionv1.Variable) {
	if len(variables) == 0 {
		return
	}
	c.Declare()
	for i := range variables {
		h.variables = append(h.variables, expression.Variable{
			Name: variables[i].Name, Expression: c.Variable(s, variables[i].Name, variables[i].Expression),
		})
	}
}

// conditionsMatch evaluates the match conditions.
func (h *base) conditionsMatch(ctx context.Context, phase admission.Phase, m *admission.Metrics,
	v *expression.Values, param map[string]any) (bool, error) {
	if len(h.conditions) == 0 {
		return true, nil
	}
	start := time.Now()
	ok, err := h.conditions.Match(ctx, expression.NewEvaluation(v, param, expression.ConditionBudget))
	m.Conditions(admission.Called{Phase: phase, Name: h.name, Operation: v.Attributes.Operation}, "policy", ok, err,
		time.Since(start))
	return ok, err
}
