package policy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/expression"
	"triplane.dev/generic/guard/admission/match"
)

// mutatingPolicy is a compiled MutatingAdmissionPolicy.
type mutatingPolicy struct {
	base
	mutations []mutation
	reinvoke  bool
}

type mutation struct {
	*expression.Expression
	jsonPatch bool
}

func compileMutating(p *admissionv1.MutatingAdmissionPolicy) (*mutatingPolicy, error) {
	c, err := expression.NewCompiler()
	if err != nil {
		return nil, err
	}
	out := &mutatingPolicy{base: base{name: p.Name},
		reinvoke: p.Spec.ReinvocationPolicy == admissionv1.IfNeededReinvocationPolicy}
	scope, err := out.compile(c, p.Spec.FailurePolicy, p.Spec.MatchConstraints, p.Spec.ParamKind, p.Spec.MatchConditions)
	if err != nil {
		return nil, err
	}
	out.declare(c, scope, p.Spec.Variables)
	scope.Mutation = true
	for i := range p.Spec.Mutations {
		switch m := &p.Spec.Mutations[i]; {
		case m.JSONPatch != nil:
			out.mutations = append(out.mutations, mutation{c.Compile(scope, m.JSONPatch.Expression, expression.Patches), true})
		case m.ApplyConfiguration != nil:
			out.mutations = append(out.mutations, mutation{c.Compile(scope, m.ApplyConfiguration.Expression,
				expression.ObjectType), false})
		}
	}
	return out, nil
}

func (p *mutatingPolicy) with(bindings []*binding) *mutatingPolicy {
	c := *p
	c.bindings = bindings
	return &c
}

func compileMutatingBinding(b *admissionv1.MutatingAdmissionPolicyBinding) (*binding, error) {
	criteria, err := match.New(b.Spec.MatchResources)
	if err != nil {
		return nil, err
	}
	return &binding{name: b.Name, policy: b.Spec.PolicyName, criteria: criteria, params: b.Spec.ParamRef}, nil
}

// Mutating is the admission plugin MutatingAdmissionPolicy. It is safe for concurrent use.
type Mutating struct {
	catalogues[*admissionv1.MutatingAdmissionPolicy, *admissionv1.MutatingAdmissionPolicyBinding, *mutatingPolicy]
	config Config
}

// NewMutating returns a plugin without policies.
func NewMutating(c Config) *Mutating {
	p := &Mutating{config: c}
	p.init(c.Gate, compileMutating, compileMutatingBinding)
	c.Metrics.FollowPolicies(admission.Mutating, p.names)
	return p
}

// Handles implements admission.Interface. Without policies the plugin handles nothing.
func (p *Mutating) Handles(op admission.Operation) bool {
	return op != admission.Delete && !p.idle()
}

// invocation identifies the evaluation of a policy with one of its bindings and params.
type invocation struct {
	policy  *mutatingPolicy
	binding *binding
	param   int
}

// Admit implements admission.MutatingInterface. The policies change the object one after the other. A policy
// whose reinvocationPolicy is IfNeeded runs once more if the object changed after its evaluation.
func (p *Mutating) Admit(ctx context.Context, a *admission.Attributes) error {
	if a.Object == nil || a.Codec == nil {
		return nil
	}
	policies, err := p.policiesFor(ctx, a)
	if len(policies) == 0 || err != nil {
		return err
	}
	r := &round{ctx: ctx, config: &p.config, reinvocation: admission.ReinvocationOf[invocation](a, p),
		inputs: expression.NewInputs(ctx, a, p.config.Authorizer, p.config.Namespaces)}
	for _, policy := range policies {
		if err := r.policy(policy); err != nil {
			return err
		}
	}
	if r.denied != nil {
		return r.denied
	}
	r.reinvocation.End()
	return nil
}

// round is one pass over the policies. After a failure the following policies still run.
type round struct {
	ctx          context.Context //nolint:containedctx // of the request
	config       *Config
	reinvocation *admission.Reinvocation[invocation]
	inputs       *expression.Inputs
	denied       *apierrors.StatusError // the first failure, with those of all as causes; nil if there is none
}

// configurationError is why a policy or a binding cannot be evaluated at all.
type configurationError struct {
	what string
	err  error
}

func (e configurationError) Error() string {
	return fmt.Sprintf("failed to configure %s: %v", e.what, e.err)
}

func (e configurationError) Unwrap() error { return e.err }

// maxCauses bounds the causes of a denial: a binding may have thousands of params.
const maxCauses = 1000

// applyFailurePolicy adds the failure of a policy to the denial, unless its failurePolicy is Ignore. It returns a
// failure that is an API status: that ends the round.
func (r *round) applyFailurePolicy(p *mutatingPolicy, b *binding, err error) error {
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		return status
	}
	if p.ignore {
		klog.V(4).ErrorS(err, "Ignored failed mutating policy", "policy", p.name)
		return nil
	}
	message := fmt.Sprintf("policy %q denied request: %v", p.name, err)
	if b != nil {
		message = fmt.Sprintf("policy '%s' with binding '%s' denied request: %v", p.name, b.name, err)
	}
	cause := metav1.StatusCause{Message: message}
	if r.denied != nil {
		if d := r.denied.ErrStatus.Details; len(d.Causes) < maxCauses {
			d.Causes = append(d.Causes, cause)
		}
		return nil
	}
	reason := metav1.StatusReasonInvalid
	if errors.As(err, new(configurationError)) {
		reason = metav1.StatusReasonForbidden
	}
	a := r.inputs.Attributes
	r.denied = &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: reason, Message: message,
		Details: &metav1.StatusDetails{
			Group: a.Resource.Group, Kind: a.Resource.Resource, Name: a.ObjectName(), Causes: []metav1.StatusCause{cause},
		},
	}}
	return nil
}

// failed is applyFailurePolicy for a failed evaluation, which it counts.
func (r *round) failed(p *mutatingPolicy, b *binding, err error, start time.Time) error {
	r.count(p, b, errorType(err), start)
	return r.applyFailurePolicy(p, b, err)
}

// count counts an evaluation that began at start.
func (r *round) count(p *mutatingPolicy, b *binding, errorType string, start time.Time) {
	r.config.Metrics.Policy(admission.Mutating,
		admission.PolicyResult{Policy: p.name, Binding: b.name, ErrorType: errorType}, time.Since(start))
}

func (r *round) policy(p *mutatingPolicy) error {
	a := r.inputs.Attributes
	gv, ok, err := p.criteria.Match(r.ctx, a, r.inputs.Find)
	if err != nil {
		return r.applyFailurePolicy(p, nil, configurationError{"policy", err})
	}
	if !ok {
		return nil
	}
	params, err := source(r.config.Params, p.params)
	if err != nil {
		return r.applyFailurePolicy(p, nil, configurationError{"policy", err})
	}
	for _, b := range p.bindings {
		_, ok, err := b.criteria.Match(r.ctx, a, r.inputs.Find)
		var list []map[string]any
		if err == nil && ok {
			list, err = params.collect(r.ctx, r.config.Params, b.params, a.Namespace)
		}
		if err != nil {
			if err := r.applyFailurePolicy(p, b, configurationError{"binding", err}); err != nil {
				return err
			}
			continue
		}
		for i, param := range list {
			t := invocation{p, b, i}
			if !r.reinvocation.Due(t) {
				continue
			}
			values, err := r.inputs.Values(gv)
			if err != nil {
				return apierrors.NewInternalError(err)
			}
			if err := r.mutate(p, b, values, param); err != nil {
				return err
			}
			if p.reinvoke {
				r.reinvocation.Called(t)
			}
		}
	}
	return nil
}

// mutate runs the mutations of a policy. Each has a separate budget. After a failed mutation the following ones
// still run.
func (r *round) mutate(p *mutatingPolicy, b *binding, values *expression.Values, param map[string]any) error {
	start := time.Now()
	ok, err := p.conditionsMatch(r.ctx, admission.Mutating, r.config.Metrics, values, param)
	if err != nil {
		return r.failed(p, b, err, start)
	}
	if !ok {
		return nil
	}
	changed, failed := false, false
	for _, m := range p.mutations {
		e := expression.NewEvaluation(values, param, expression.PolicyBudget).WithVariables(r.ctx, p.variables)
		did, err := m.apply(r.ctx, e, values)
		if err != nil {
			if err := r.failed(p, b, err, start); err != nil {
				return err
			}
			failed = failed || !p.ignore
			continue
		}
		if !did {
			continue
		}
		changed = true
		r.inputs.Changed()
		if values, err = r.inputs.Values(values.Version); err != nil {
			return err
		}
	}
	if failed {
		return nil
	}
	r.count(p, b, admission.PolicyNoError, start)
	if changed {
		r.reinvocation.Changed()
	}
	return nil
}
