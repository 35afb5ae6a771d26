package admissionregistration

import (
	"testing"

	"triplane.dev/kubeapi/kindtest"
)

func TestWebhook(t *testing.T) {
	c := kindtest.New(t, mutatingWebhookKind(rules{}), "webhooks: [{name: a.example.com, clientConfig: {service: {name: s, namespace: n}}, rules: [{operations: [CREATE]}]}]")
	w := c.Webhooks[0]
	if *w.FailurePolicy != "Fail" || *w.TimeoutSeconds != 10 || *w.ClientConfig.Service.Port != 443 || *w.Rules[0].Scope != "*" || *w.ReinvocationPolicy != "Never" {
		t.Errorf("unexpected defaults %+v", w)
	}
	kindtest.Refused(t, validatingWebhookKind(rules{}), "webhooks: [{}]", "webhooks[0].name: Required value",
		"webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
		"webhooks[0].clientConfig: Required value: exactly one of url or service is required",
		"webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1")
}

func TestPolicy(t *testing.T) {
	kindtest.Refused(t, validatingPolicyKind(rules{}), "{}", "spec.matchConstraints: Required value",
		"spec.validations: Required value: validations or auditAnnotations must contain at least one item",
		"spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item")
	kindtest.Refused(t, validatingBindingKind(rules{}), "spec: {policyName: p, validationActions: [Deny, Warn], paramRef: {}}",
		"spec.paramRef: Required value: one of name or selector must be specified", "spec.paramRef.parameterNotFoundAction: Required value",
		`spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)`)
}
