package triplane

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAuditAnnotations checks the annotations of admission and authentication.
func TestAuditAnnotations(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	s := auditServer(t, func(o *Options) { o.Audit.Log.Path = log })
	post := func(path, body string) {
		if code := curl(t, s, "admin-token", "POST", path, body); code != 201 {
			t.Fatalf("POST %s: %d", path, code)
		}
	}
	post("/api/v1/namespaces", `{"metadata":{"name":"aud","labels":{"pod-security.kubernetes.io/audit":"restricted"}}}`)
	post("/api/v1/namespaces/aud/serviceaccounts", `{"metadata":{"name":"default"}}`)
	post("/api/v1/namespaces", `{"metadata":{"name":"free","labels":{"pod-security.kubernetes.io/enforce-version":"v1.22"}}}`)
	post("/api/v1/namespaces/free/serviceaccounts", `{"metadata":{"name":"default"}}`)
	post("/api/v1/namespaces/free/pods", `{"metadata":{"generateName":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	post("/api/v1/namespaces/aud/pods", `{"metadata":{"name":"kept"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	if code := curl(t, s, "admin-token", "PATCH", "/api/v1/namespaces/aud/pods/kept", `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type: application/merge-patch+json"); code != 200 {
		t.Fatal(code)
	}
	for _, kind := range []string{"validating", "mutating"} {
		if kind == "validating" { // only webhooks that match are counted
			post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", `{"metadata":{"name":"another"},
				"webhooks":[{"name":"another.example.com","admissionReviewVersions":["v1"],"sideEffects":"None",
				"clientConfig":{"url":"https://127.0.0.1:1/"},
				"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["secrets"]}]}]}`)
		}
		post("/apis/admissionregistration.k8s.io/v1/"+kind+"webhookconfigurations", `{"metadata":{"name":"down"},"webhooks":[{"name":"down.example.com",
			"admissionReviewVersions":["v1"],"sideEffects":"None","failurePolicy":"Ignore","timeoutSeconds":1,"clientConfig":{"url":"https://127.0.0.1:1/"},
			"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}]}]}`)
	}
	// Configurations are watched: the first pods may be created before they apply.
	const failedOpen = `"failed-open.validating.webhook.admission.k8s.io/round_0_index_0":"down.example.com"`
	const mutationFailedOpen = `"failed-open.mutation.webhook.admission.k8s.io/round_0_index_0":"down.example.com"`
	eventually(t, "the webhook is asked", func() bool {
		post("/api/v1/namespaces/aud/pods", `{"metadata":{"generateName":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
		written, err := os.ReadFile(log)
		return err == nil && bytes.Contains(written, []byte(mutationFailedOpen)) && bytes.Contains(written, []byte(failedOpen))
	})
	post("/api/v1/namespaces/aud/serviceaccounts/default/token", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}`)
	curl(t, s, "admin-token", "GET", "/api/v1/componentstatuses", "")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(written, []byte("privileged:v1.22")) {
		t.Error("what is allowed everything is so in every version")
	}
	for line := range bytes.Lines(written) {
		if bytes.Contains(line, []byte(`"verb":"patch"`)) && bytes.Contains(line, []byte("pod-security")) {
			t.Errorf("a pod is judged for its labels: %s", line)
		}
	}
	for resource, want := range map[string][]string{
		"pods": {`"pod-security.kubernetes.io/enforce-policy":"privileged:latest"`, `"pod-security.kubernetes.io/audit-violations":"would violate PodSecurity \"restricted:latest\"`,
			failedOpen, mutationFailedOpen, `"mutation.webhook.admission.k8s.io/round_0_index_0":"{\"configuration\":\"down\",\"webhook\":\"down.example.com\",\"mutated\":false}"`},
		"serviceaccounts/token": {`"authentication.kubernetes.io/issued-credential-id":"JTI=`},
		"componentstatuses":     {`"k8s.io/deprecated":"true"`},
	} {
		last := lastEvent(written, resource)
		for _, w := range want {
			if !strings.Contains(last, w) {
				t.Errorf("%s: no %s in %s", resource, w, last)
			}
		}
	}
}

// lastEvent returns the last event of a resource, which may have a subresource.
func lastEvent(log []byte, resource string) string {
	resource, subresource, _ := strings.Cut(resource, "/")
	last := ""
	for line := range bytes.Lines(log) {
		var e struct {
			ObjectRef struct{ Resource, Subresource string }
		}
		if json.Unmarshal(line, &e) == nil && e.ObjectRef.Resource == resource && e.ObjectRef.Subresource == subresource {
			last = string(line)
		}
	}
	return last
}
