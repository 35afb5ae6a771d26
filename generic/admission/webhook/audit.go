package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	"triplane/generic/admission"
	"triplane/generic/audit"
	"triplane/generic/request"
)

// turnKey is the end of an annotation's key: in which round of the plugins, and
// which of all webhooks of a kind.
func turnKey(round, index int) string { return fmt.Sprintf("round_%d_index_%d", round, index) }

func round(a *admission.Attributes) int {
	if a.Reinvocation() {
		return 1
	}
	return 0
}

// auditFailedOpen records that a webhook failed and the request went on.
func (c *turn) auditFailedOpen(ctx context.Context) {
	kind := "validating"
	if c.mutating {
		kind = "mutating"
	}
	request.Annotate(ctx, "failed-open."+kind+".webhook.admission.k8s.io/"+turnKey(c.round, c.index), c.name)
}

// auditMutation records whether a webhook changed the object and, at the level
// Request, with which JSON patch.
func (c *turn) auditMutation(ctx context.Context, changed bool, patch []byte) {
	rec := request.AuditFrom(ctx)
	if rec == nil {
		return
	}
	annotate := func(prefix string, v any) {
		if text, err := json.Marshal(v); err == nil {
			rec.Annotate(prefix+turnKey(c.round, c.index), string(text))
		}
	}
	annotate("mutation.webhook.admission.k8s.io/", struct {
		Configuration string `json:"configuration"`
		Webhook       string `json:"webhook"`
		Mutated       bool   `json:"mutated"`
	}{c.configuration, c.name, changed})
	if changed && rec.Records(audit.LevelRequest) {
		annotate("patch.webhook.admission.k8s.io/", struct {
			Configuration string          `json:"configuration"`
			Webhook       string          `json:"webhook"`
			Patch         json.RawMessage `json:"patch,omitempty"`
			PatchType     string          `json:"patchType,omitempty"`
		}{c.configuration, c.name, patch, "JSONPatch"})
	}
}

// auditAnswer records the annotations that a webhook's answer asks for, below its
// name.
func (c *turn) auditAnswer(ctx context.Context, annotations map[string]string) {
	if len(annotations) == 0 {
		return
	}
	rec := request.AuditFrom(ctx)
	for k, v := range annotations {
		rec.Annotate(c.name+"/"+k, v)
	}
}
