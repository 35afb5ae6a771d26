package policy

import (
	"encoding/json"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"triplane.dev/generic/guard/audit"
)

const (
	failureAnnotation = "validation.policy.admission.k8s.io/validation_failure"
	// maxAuditValue limits the bytes of an audit annotation's value, as documented in the API.
	maxAuditValue = 10 << 10
)

// auditRecord collects what policies add to the audit events of a request. A nil auditRecord collects nothing.
type auditRecord struct {
	failures []validationFailure
	values   map[string][]string // by key, each once
}

// validationFailure is a failed validation of a binding with the action Audit. The API documents its JSON form.
type validationFailure struct {
	Message         string                         `json:"message"`
	Policy          string                         `json:"policy"`
	Binding         string                         `json:"binding"`
	ExpressionIndex int                            `json:"expressionIndex"`
	Actions         []admissionv1.ValidationAction `json:"validationActions"`
}

func (r *auditRecord) failure(p *validatingPolicy, b *binding, index int, message string) {
	if r != nil {
		r.failures = append(r.failures, validationFailure{message, p.name, b.name, index, b.actions})
	}
}

func (r *auditRecord) annotation(key, value string) {
	value = strings.TrimSpace(value)
	if r == nil || value == "" {
		return
	}
	if len(value) > maxAuditValue {
		value = strings.ToValidUTF8(value[:maxAuditValue], "")
	}
	if slices.Contains(r.values[key], value) {
		return
	}
	if r.values == nil {
		r.values = map[string][]string{}
	}
	r.values[key] = append(r.values[key], value)
}

func (r *auditRecord) annotate(rec *audit.Record) {
	if r == nil {
		return
	}
	for key, values := range r.values {
		rec.Annotate(key, strings.Join(values, ", "))
	}
	if len(r.failures) == 0 {
		return
	}
	if text, err := json.Marshal(r.failures); err == nil {
		rec.Annotate(failureAnnotation, string(text))
	}
}
