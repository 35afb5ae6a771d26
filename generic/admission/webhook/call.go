package webhook

import (
	"context"
	"fmt"
	"net/http"

	admissionapi "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"triplane/generic/admission/expression"
	"triplane/generic/request"
)

// turn is the call of a webhook about an operation.
type turn struct {
	*hook
	mutating bool
	// round is 1 where the webhook is asked again; index is its place among all
	// webhooks of its kind.
	round, index int
}

// ask calls a webhook. The response is nil where it failed and failures are
// ignored; the error is an API status.
func (c *turn) ask(ctx context.Context, v *expression.Values) (*admissionapi.AdmissionResponse, error) {
	if v.Attributes.DryRun && !c.dryRun {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("admission webhook %q does not support dry run", c.name))
	}
	r, err := c.call(ctx, v, c.mutating)
	if err != nil {
		err = fmt.Errorf("failed calling webhook %q: %w", c.name, err)
		if c.ignore && ctx.Err() == nil {
			klog.ErrorS(err, "Failed calling webhook, failing open", "webhook", c.name)
			c.auditFailedOpen(ctx)
			return nil, nil
		}
		return nil, apierrors.NewInternalError(err)
	}
	c.auditAnswer(ctx, r.AuditAnnotations)
	for _, w := range r.Warnings {
		request.AddWarning(ctx, w)
	}
	if !r.Allowed {
		return nil, refusal(c.name, r.Result)
	}
	return r, nil
}

func (h *hook) call(ctx context.Context, v *expression.Values, mutating bool) (*admissionapi.AdmissionResponse, error) {
	if h.clientErr != nil {
		return nil, fmt.Errorf("could not get REST client: %w", h.clientErr)
	}
	body, uid, err := question(h, v)
	if err != nil {
		return nil, fmt.Errorf("could not create admission objects: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	said, err := h.client.post(ctx, body)
	if err != nil {
		return nil, fmt.Errorf("failed to call webhook: %w", err)
	}
	r, err := answer(h, said, uid, mutating)
	if err != nil {
		return nil, fmt.Errorf("received invalid webhook response: %w", err)
	}
	return r, nil
}

// refusal is a webhook's "no" as an API status.
func refusal(name string, result *metav1.Status) error {
	by := fmt.Sprintf("admission webhook %q denied the request", name)
	s := metav1.Status{}
	if result != nil {
		s = *result
	}
	if s.Code < http.StatusBadRequest || s.Code > 999 { // which HTTP does not know
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
