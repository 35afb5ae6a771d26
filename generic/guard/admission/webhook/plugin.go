package webhook

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/expression"
	"triplane.dev/generic/guard/admission/match"
	"triplane.dev/internal/worker"
)

// Config configures both plugins.
type Config struct {
	// Namespaces returns a namespace, for selectors and expressions.
	Namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)
	// Authorizer is the variable authorizer of match conditions; nil allows all.
	Authorizer authorizer.Authorizer
	// Resolver resolves Services. With nil, the system's DNS resolves them.
	Resolver Resolver
	// Credentials authenticate the server to webhooks; nil is anonymous.
	Credentials *Credentials
	// Metrics counts calls; nil disables metrics.
	Metrics *admission.Metrics
	// Gate opens when the stored configurations are synced.
	Gate *admission.Gate
	// ExcludeReviews is set if no webhook is called for authentication and authorization reviews.
	ExcludeReviews bool
}

// plugin holds the compiled webhooks. Its pointer is nil if there are none.
type plugin struct {
	config Config
	hooks  atomic.Pointer[hooks]

	mu             sync.Mutex // for set
	static, served []*hook
}

// hooks are the compiled webhooks: the first static ones are those of manifests, the others those of the API.
type hooks struct {
	all    []*hook
	static int
}

// names returns the names of all webhooks.
func (p *plugin) names() (names []string) {
	if set := p.hooks.Load(); set != nil {
		for _, h := range set.all {
			names = append(names, h.name)
		}
	}
	return names
}

// Handles implements admission.Interface. Without webhooks the plugin handles nothing.
func (p *plugin) Handles(admission.Operation) bool {
	return p.hooks.Load() != nil || !p.config.Gate.IsOpen()
}

// set replaces the webhooks of the API.
func (p *plugin) set(list []*hook) { p.replace(&p.served, list) }

func (p *plugin) setStatic(list []*hook) {
	for _, h := range list {
		h.id = "static/" + h.id // stored webhooks may have the same names, from before these were reserved
	}
	p.replace(&p.static, list)
}

func (p *plugin) replace(part *[]*hook, list []*hook) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := *part
	*part = list
	if len(p.static)+len(p.served) == 0 {
		p.hooks.Store(nil)
	} else {
		p.hooks.Store(&hooks{slices.Concat(p.static, p.served), len(p.static)})
	}
	for _, h := range old {
		if h.client != nil {
			h.client.close()
		}
	}
}

// load returns the webhooks that may apply to an operation, after stored ones are synced. Webhooks of the API
// are not called for writes of webhook configurations and policies.
func (p *plugin) load(ctx context.Context, a *admission.Attributes) ([]*hook, error) {
	if p.config.ExcludeReviews && match.Review(a) {
		return nil, nil
	}
	exempt := match.Exempt(a)
	if !exempt {
		if err := p.config.Gate.Wait(ctx, a); err != nil {
			return nil, err
		}
	}
	switch set := p.hooks.Load(); {
	case set == nil:
		return nil, nil
	case exempt:
		return set.all[:set.static], nil
	default:
		return set.all, nil
	}
}

func report(err error) { klog.ErrorS(err, "Failed to compile webhook, ignoring it") }

// invocation is a webhook that matches the operation, with the values to send.
type invocation struct {
	*webhookCall
	values *expression.Values
}

// conditionsMatch evaluates the match conditions.
func (c *webhookCall) conditionsMatch(ctx context.Context, v *expression.Values) (bool, error) {
	start := time.Now()
	ok, err := c.conditions.Match(ctx, expression.NewEvaluation(v, nil, expression.ConditionBudget))
	c.metrics.Conditions(c.called(v), "webhook", ok, err, time.Since(start))
	return ok, err
}

// prepare returns the invocation of a webhook that matches the operation, or nil. The error is an API status.
func (c *webhookCall) prepare(ctx context.Context, j *expression.Inputs) (*invocation, error) {
	h := c.hook
	gv, ok, err := h.criteria.Match(ctx, j.Attributes, j.Find)
	if err != nil || !ok {
		return nil, err
	}
	values, err := j.Values(gv)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if len(h.conditions) > 0 {
		ok, err := c.conditionsMatch(ctx, values)
		if err != nil {
			if h.ignore {
				klog.ErrorS(err, "Failed evaluating match conditions, failing open", "webhook", h.name)
				return nil, nil
			}
			// Without the name from metadata.generateName, as kube-apiserver does.
			return nil, apierrors.NewForbidden(j.Attributes.Resource.GroupResource(), j.Attributes.Name, err)
		}
		if !ok {
			return nil, nil
		}
	}
	return &invocation{c, values}, nil
}

// Validating is the admission plugin ValidatingAdmissionWebhook. It is safe for concurrent use.
type Validating struct{ plugin }

// NewValidating returns a plugin without webhooks.
func NewValidating(c Config) *Validating {
	p := &Validating{plugin{config: c}}
	c.Metrics.FollowWebhooks(admission.Validating, p.names)
	return p
}

// Set replaces all configurations of the API.
func (p *Validating) Set(list []*admissionv1.ValidatingWebhookConfiguration) {
	p.set(validating(list, &p.config, report))
}

// SetStatic replaces all configurations of manifests.
func (p *Validating) SetStatic(list []*admissionv1.ValidatingWebhookConfiguration) {
	p.setStatic(validating(list, &p.config, report))
}

// Validate implements admission.ValidatingInterface. It calls all webhooks concurrently and returns the first
// denial.
func (p *Validating) Validate(ctx context.Context, a *admission.Attributes) error {
	hooks, err := p.load(ctx, a)
	if len(hooks) == 0 || err != nil {
		return err
	}
	j := expression.NewInputs(ctx, a, p.config.Authorizer, p.config.Namespaces)
	var calls []*invocation
	for _, h := range hooks {
		i, err := (&webhookCall{hook: h, index: len(calls), metrics: p.config.Metrics}).prepare(ctx, j)
		if err != nil {
			return err
		}
		if i != nil {
			calls = append(calls, i)
		}
	}
	switch len(calls) {
	case 0:
		return nil
	case 1:
		_, err := calls[0].invoke(ctx, calls[0].values)
		return err
	}
	return invokeAll(ctx, calls)
}

// invokeAll calls webhooks concurrently.
func invokeAll(ctx context.Context, calls []*invocation) error {
	// The calls share the values, so those that are computed on first use are computed before.
	for _, c := range calls {
		if _, err := c.values.Object(); err != nil {
			return apierrors.NewInternalError(err)
		}
		if _, err := c.values.Old(); err != nil {
			return apierrors.NewInternalError(err)
		}
	}
	errs := make([]error, len(calls))
	var wg worker.Group
	for i, c := range calls {
		wg.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					klog.ErrorS(nil, "Recovered from panic in webhook call", "webhook", c.name, "panic", r)
					errs[i] = apierrors.NewInternalError(errPanic)
				}
			}()
			_, errs[i] = c.invoke(ctx, c.values)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
