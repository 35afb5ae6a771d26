package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/audit"
)

// annotationSuffix ends the key of an audit annotation. It has the round and the index of the call.
func annotationSuffix(round, index int) string { return fmt.Sprintf("round_%d_index_%d", round, index) }

func round(a *admission.Attributes) int {
	if a.Reinvocation() {
		return 1
	}
	return 0
}

// auditFailedOpen records that a call failed and the failurePolicy Ignore allowed the request.
func (c *webhookCall) auditFailedOpen(ctx context.Context) {
	kind := "validating"
	if c.mutating {
		kind = "mutation"
	}
	request.Annotate(ctx, "failed-open."+kind+".webhook.admission.k8s.io/"+annotationSuffix(c.round, c.index), c.name)
}

// auditMutation records that a webhook was called, and whether it changed the object.
func (c *webhookCall) auditMutation(ctx context.Context, changed bool) {
	c.annotate(audit.RecordFrom(ctx), "mutation.webhook.admission.k8s.io/", struct {
		Configuration string `json:"configuration"`
		Webhook       string `json:"webhook"`
		Mutated       bool   `json:"mutated"`
	}{c.configuration, c.name, changed})
}

// auditPatch records the applied JSON patch at level Request, even if it changed nothing.
func (c *webhookCall) auditPatch(ctx context.Context, patch []byte) {
	rec := audit.RecordFrom(ctx)
	if rec == nil || !rec.Records(audit.LevelRequest) {
		return
	}
	c.annotate(rec, "patch.webhook.admission.k8s.io/", struct {
		Configuration string          `json:"configuration"`
		Webhook       string          `json:"webhook"`
		Patch         json.RawMessage `json:"patch,omitempty"`
		PatchType     string          `json:"patchType,omitempty"`
	}{c.configuration, c.name, patch, "JSONPatch"})
}

func (c *webhookCall) annotate(rec *audit.Record, prefix string, v any) {
	if rec == nil {
		return
	}
	if text, err := json.Marshal(v); err == nil {
		rec.Annotate(prefix+annotationSuffix(c.round, c.index), string(text))
	}
}

// auditAnnotations records the audit annotations of a webhook's response. Their keys begin with the webhook's
// name.
func (c *webhookCall) auditAnnotations(ctx context.Context, annotations map[string]string) {
	for k, v := range annotations {
		admission.Annotate(ctx, c.name, k, v)
	}
}
