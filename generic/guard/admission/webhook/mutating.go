package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionapi "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/expression"
)

var errPanic = errors.New("the call of a webhook failed unexpectedly")

// Mutating is the admission plugin MutatingAdmissionWebhook. It is safe for concurrent use.
type Mutating struct{ plugin }

// NewMutating returns a plugin without webhooks.
func NewMutating(c Config) *Mutating {
	p := &Mutating{plugin{config: c}}
	c.Metrics.FollowWebhooks(admission.Mutating, p.names)
	return p
}

// Set replaces all configurations of the API.
func (p *Mutating) Set(list []*admissionv1.MutatingWebhookConfiguration) {
	p.set(mutating(list, &p.config, report))
}

// SetStatic replaces all configurations of manifests.
func (p *Mutating) SetStatic(list []*admissionv1.MutatingWebhookConfiguration) {
	p.setStatic(mutating(list, &p.config, report))
}

// Admit implements admission.MutatingInterface. It calls the webhooks one after the other.
func (p *Mutating) Admit(ctx context.Context, a *admission.Attributes) error {
	hooks, err := p.load(ctx, a)
	if len(hooks) == 0 || err != nil {
		return err
	}
	reinvocation := admission.ReinvocationOf[string](a, p)
	j := expression.NewInputs(ctx, a, p.config.Authorizer, p.config.Namespaces)
	for i, h := range hooks {
		if !reinvocation.Due(h.id) {
			continue
		}
		if err := p.call(ctx, &webhookCall{hook: h, mutating: true, round: round(a), index: i, metrics: p.config.Metrics}, j,
			reinvocation); err != nil {
			return err
		}
	}
	reinvocation.End()
	return nil
}

// call calls one webhook, if it matches, and applies its patch.
func (p *Mutating) call(ctx context.Context, h *webhookCall, j *expression.Inputs,
	reinvocation *admission.Reinvocation[string]) error {
	i, err := h.prepare(ctx, j)
	if err != nil || i == nil {
		return err
	}
	changed, err := h.mutate(ctx, i.values)
	h.auditMutation(ctx, changed)
	if err != nil {
		return err
	}
	if changed {
		j.Changed()
		reinvocation.Changed()
	}
	if h.reinvoke {
		reinvocation.Called(h.id)
	}
	return nil
}

// mutate calls the webhook and reports whether its patch changed the object.
func (c *webhookCall) mutate(ctx context.Context, v *expression.Values) (changed bool, err error) {
	ends := time.Now().Add(c.timeout)
	r, err := c.invoke(ctx, v)
	if err != nil || r == nil || r.patch.Len() == 0 {
		return false, err
	}
	return c.patch(ctx, ends, v, r)
}

// patch applies the patch of a webhook within the timeout of the call. Exceeding it is a failed call.
func (c *webhookCall) patch(ctx context.Context, ends time.Time, v *expression.Values, r *reply) (changed bool,
	err error) {
	patching, cancel := context.WithDeadline(ctx, ends)
	defer cancel()
	changed, err = apply(patching, c.hook, v, r)
	switch {
	case errors.As(err, new(unsupportedError)):
		return false, c.applyFailurePolicy(ctx, v, fmt.Errorf("failed calling webhook %q: %w", c.name, err))
	case err != nil && patching.Err() != nil:
		return false, c.applyFailurePolicy(ctx, v, fmt.Errorf("failed to apply the patch of webhook %q: %w", c.name,
			patching.Err()))
	case err != nil:
		c.rejected(v, admission.WebhookInternalError, 0)
		return false, err
	}
	c.auditPatch(ctx, r.Patch)
	return changed, nil
}

// unsupportedError is a response whose patch has another type than JSONPatch.
type unsupportedError struct{ patchType admissionapi.PatchType }

func (e unsupportedError) Error() string {
	return fmt.Sprintf("unsupported patch type %q", e.patchType)
}

// apply applies a JSON patch to the object and reports whether that changed it.
func apply(ctx context.Context, h *hook, v *expression.Values, r *reply) (changed bool, err error) {
	obj, err := v.Object()
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	if obj == nil || v.Codec == nil {
		return false, apierrors.NewInternalError(fmt.Errorf(
			"admission webhook %q attempted to modify the object, which is not supported for this operation", h.name))
	}
	if t := ptr.Deref(r.PatchType, ""); t != admissionapi.PatchTypeJSONPatch {
		return false, unsupportedError{t}
	}
	before, err := admission.Document(obj, v.Kind())
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	after, err := r.patch.Apply(ctx, before)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	codec, err := v.Attributes.ConverterOf(v.Codec, before, after)
	if err != nil {
		return false, apierrors.NewInternalError(fmt.Errorf("admission webhook %q: %w", h.name, err))
	}
	if changed, err = v.Attributes.Become(codec, obj, after); err != nil {
		return false, apierrors.NewInternalError(err)
	}
	return changed, nil
}
