package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	admissionapi "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/expression"
	"triplane.dev/generic/storage/jsonpatch"
)

// webhookCall is the call of a webhook for one request.
type webhookCall struct {
	*hook
	mutating bool
	// round is 1 in the reinvocation and 0 before. index is the position among all mutating webhooks, or among the
	// validating webhooks that match.
	round, index int
	metrics      *admission.Metrics
}

// reply is the response of a webhook.
type reply struct {
	*admissionapi.AdmissionResponse
	patch jsonpatch.Patch // of a mutating webhook
}

// invoke calls a webhook and applies its failure policy. The reply is nil if the call failed and failures are
// ignored. The error is an API status.
func (c *webhookCall) invoke(ctx context.Context, v *expression.Values) (*reply, error) {
	if v.Attributes.DryRun && !c.dryRun {
		c.rejected(v, admission.WebhookRefused, http.StatusBadRequest)
		return nil, apierrors.NewBadRequest(fmt.Sprintf("admission webhook %q does not support dry run", c.name))
	}
	start := time.Now()
	r, err := c.call(ctx, v)
	took := time.Since(start)
	request.Spent(ctx, c.part(), took)
	if err != nil {
		return nil, c.failed(ctx, v, err, took)
	}
	c.auditAnnotations(ctx, r.AuditAnnotations)
	for _, w := range r.Warnings {
		request.AddWarning(ctx, w)
	}
	if !r.Allowed {
		denial := denialOf(c.name, r.Result)
		code := int(denial.ErrStatus.Code)
		c.metrics.Webhook(c.called(v), true, code, took)
		c.rejected(v, admission.WebhookRefused, code)
		return nil, denial
	}
	c.metrics.Webhook(c.called(v), false, http.StatusOK, took)
	return r, nil
}

// failed counts a failed call and applies the failure policy to it.
func (c *webhookCall) failed(ctx context.Context, v *expression.Values, err error, took time.Duration) error {
	err = fmt.Errorf("failed calling webhook %q: %w", c.name, err)
	c.metrics.Webhook(c.called(v), !c.ignores(ctx), codeOf(err), took)
	return c.applyFailurePolicy(ctx, v, err)
}

// ignores reports whether failures are ignored. After the end of the request they are not: then the webhook did
// not fail.
func (c *webhookCall) ignores(ctx context.Context) bool { return c.ignore && ctx.Err() == nil }

// applyFailurePolicy returns the API status for a failure, or nil if failures are ignored.
func (c *webhookCall) applyFailurePolicy(ctx context.Context, v *expression.Values, err error) error {
	if c.ignores(ctx) {
		klog.ErrorS(err, "Failed calling webhook, failing open", "webhook", c.name)
		c.auditFailedOpen(ctx)
		c.metrics.WebhookFailedOpen(c.called(v))
		return nil
	}
	c.rejected(v, admission.WebhookFailed, 0)
	return apierrors.NewInternalError(err)
}

func (c *webhookCall) rejected(v *expression.Values, why string, code int) {
	c.metrics.WebhookRejection(c.called(v), why, code)
}

// called returns what the metrics of a call are counted by.
func (c *webhookCall) called(v *expression.Values) admission.Called {
	phase := admission.Validating
	if c.mutating {
		phase = admission.Mutating
	}
	return admission.Called{Phase: phase, Name: c.name, Operation: v.Attributes.Operation}
}

func (c *webhookCall) part() request.Part {
	if c.mutating {
		return request.MutatingWebhook
	}
	return request.ValidatingWebhook
}

// codeOf returns the HTTP status of a failed call, or 0.
func codeOf(err error) int {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return int(status.Status().Code)
	}
	return 0
}

func (c *webhookCall) call(ctx context.Context, v *expression.Values) (*reply, error) {
	if c.clientErr != nil {
		return nil, fmt.Errorf("could not get REST client: %w", c.clientErr)
	}
	body, uid, err := encodeReview(c.hook, v)
	if err != nil {
		return nil, fmt.Errorf("could not create admission objects: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	review := newReview(c.version)
	if err := c.client.post(ctx, body, review); err != nil {
		return nil, fmt.Errorf("failed to call webhook: %w", err)
	}
	r, err := readResponse(review, uid, c.mutating)
	if err != nil {
		return nil, fmt.Errorf("received invalid webhook response: %w", err)
	}
	if !c.mutating || len(r.Patch) == 0 {
		return &reply{AdmissionResponse: r}, nil
	}
	patch, err := jsonpatch.Decode(r.Patch)
	if err != nil {
		return nil, fmt.Errorf("received undecodable patch in webhook response: %w", err)
	}
	return &reply{r, patch}, nil
}

// denialOf returns the API status for a webhook's denial.
func denialOf(name string, result *metav1.Status) *apierrors.StatusError {
	by := fmt.Sprintf("admission webhook %q denied the request", name)
	s := metav1.Status{}
	if result != nil {
		s = *result
	}
	if s.Code < http.StatusBadRequest || s.Code > 999 { // not a valid HTTP error code
		s.Code = http.StatusBadRequest
	}
	if s.Status == "" || s.Status == metav1.StatusSuccess {
		s.Status = metav1.StatusFailure
	}
	switch {
	case s.Message != "":
		s.Message = by + ": " + s.Message
	case s.Reason != "":
		s.Message = by + ": " + string(s.Reason)
	default:
		s.Message = by + " without explanation"
	}
	return &apierrors.StatusError{ErrStatus: s}
}
