// Admission webhooks: what they are sent, what they may change, and what their failures do.

package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	admissionapi "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"triplane.dev/e2e/harness"
)

func TestWebhooks(t *testing.T) {
	a := newAdmitted(t)
	t.Run("a refusal is reported", func(t *testing.T) { refusalIsReported(t, a) })
	t.Run("requests carry what changes", func(t *testing.T) { requestsCarry(t, a) })
	t.Run("failures", func(t *testing.T) { failures(t, a) })
	t.Run("conditions", func(t *testing.T) { conditions(t, a) })
	t.Run("patches", func(t *testing.T) { patches(t, a) })
	t.Run("a second round", func(t *testing.T) { secondRound(t, a) })
	t.Run("services", func(t *testing.T) { services(t, a) })
	t.Run("other versions", func(t *testing.T) { otherVersions(t, a) })
}

func refused(_ *corev1.ConfigMap, err error) bool { return err != nil }

func refusalIsReported(t *testing.T, a *admitted) {
	a.namespace(t, "refusal")
	a.hooks.serve("/refusal", func(*admissionapi.AdmissionRequest) *admissionapi.AdmissionResponse {
		return &admissionapi.AdmissionResponse{
			Warnings: []string{"think again"},
			Result:   &metav1.Status{Code: http.StatusTeapot, Reason: "Teapot", Message: "short and stout"},
		}
	})
	a.validating(t, "refusal", admissionv1.ValidatingWebhook{Name: "refusal.example.com",
		ClientConfig: a.hooks.client("/refusal"), Rules: onConfigMaps("CREATE")})
	a.active(t, "refusal", refused)
	_, err := a.create(t, "refusal", "a", metav1.CreateOptions{})
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Code != http.StatusTeapot ||
		status.ErrStatus.Message != `admission webhook "refusal.example.com" denied the request: short and stout` {
		t.Errorf("%v", err)
	}
	if !slices.Contains(a.warnings.all(), "think again") {
		t.Error("the warning was not sent")
	}
	if _, err := a.create(t, "default", "a", metav1.CreateOptions{}); err != nil {
		t.Errorf("another namespace: %v", err)
	}
}

func requestsCarry(t *testing.T, a *admitted) {
	a.namespace(t, "carry")
	a.hooks.serve("/carry", allow)
	a.validating(t, "carry", admissionv1.ValidatingWebhook{Name: "carry.example.com",
		ClientConfig: a.hooks.client("/carry"), Rules: onConfigMaps("*")})
	a.active(t, "carry", func(*corev1.ConfigMap, error) bool { return len(a.hooks.requests("/carry")) > 0 })
	if r := a.hooks.requests("/carry")[0]; r.DryRun == nil || !*r.DryRun {
		t.Error("a dry run is not marked")
	}
	before := len(a.hooks.requests("/carry"))
	maps := a.client.CoreV1().ConfigMaps("carry")
	m, err := a.create(t, "carry", "a", metav1.CreateOptions{FieldManager: "me"})
	if err != nil {
		t.Fatal(err)
	}
	m.Data["k"] = "w"
	if _, err := maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	var seen []*admissionapi.AdmissionRequest
	for _, r := range a.hooks.requests("/carry")[before:] {
		if n := len(seen); n > 0 && seen[n-1].Operation == r.Operation {
			seen = seen[:n-1] // of a state from before the last write, which the cache still had
		}
		seen = append(seen, r)
	}
	if len(seen) != 3 {
		t.Fatalf("%d reviews, want 3", len(seen))
	}
	value := func(raw []byte) string {
		var m corev1.ConfigMap
		_ = json.Unmarshal(raw, &m)
		return m.Kind + ":" + m.Data["k"]
	}
	for i, want := range []struct {
		op          admissionapi.Operation
		object, old string
		options     string
	}{
		{"CREATE", "ConfigMap:v", ":", `"fieldManager":"me"`},
		{"UPDATE", "ConfigMap:w", "ConfigMap:v", `"kind":"UpdateOptions"`},
		{"DELETE", ":", "ConfigMap:w", `"kind":"DeleteOptions"`},
	} {
		r := seen[i]
		if r.Operation != want.op || value(r.Object.Raw) != want.object || value(r.OldObject.Raw) != want.old ||
			!strings.Contains(string(r.Options.Raw), want.options) {
			t.Errorf("%s: %s of %s, options %s", r.Operation, r.Object.Raw, r.OldObject.Raw, r.Options.Raw)
		}
		if r.UID == "" || r.UserInfo.Username == "" || r.Namespace != "carry" || r.Name != "a" ||
			r.Resource.Resource != "configmaps" || r.RequestKind.Kind != "ConfigMap" {
			t.Errorf("%+v", r)
		}
	}
}

func failures(t *testing.T, a *admitted) {
	a.namespace(t, "failures")
	w := admissionv1.ValidatingWebhook{
		Name: "failures.example.com", Rules: onConfigMaps("CREATE"), TimeoutSeconds: ptr.To[int32](1),
		ClientConfig: admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/x")},
	}
	a.validating(t, "failures", w)
	a.active(t, "failures", refused)
	fails := func(want string) {
		t.Helper()
		harness.Eventually(t, func() error {
			_, err := a.create(t, "failures", "a", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), want) {
				return fmt.Errorf("got %v, want %q", err, want) //nolint:errorlint // the error may be nil
			}
			return nil
		})
	}
	fails(`failed calling webhook "failures.example.com": failed to call webhook: Post "https://127.0.0.1:1/x?timeout=1s": dial tcp 127.0.0.1:1`)
	a.hooks.serve("/slow", func(*admissionapi.AdmissionRequest) *admissionapi.AdmissionResponse {
		time.Sleep(1500 * time.Millisecond)
		return &admissionapi.AdmissionResponse{Allowed: true}
	})
	confs := a.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	set := func(path string, value any) {
		t.Helper()
		patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/webhooks/0/" + path, "value": value}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := confs.Patch(t.Context(), "failures", types.JSONPatchType, patch,
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	set("clientConfig", a.hooks.client("/slow"))
	fails("context deadline exceeded")
	set("clientConfig", a.hooks.client("/nowhere"))
	fails("the server could not find the requested resource")
	set("clientConfig", admissionv1.WebhookClientConfig{URL: ptr.To(a.hooks.URL + "/slow")})
	fails("certificate signed by unknown authority")
	set("failurePolicy", "Ignore")
	a.active(t, "failures", func(_ *corev1.ConfigMap, err error) bool { return err == nil })
}

func conditions(t *testing.T, a *admitted) {
	a.namespace(t, "conditions")
	a.hooks.serve("/conditions", func(*admissionapi.AdmissionRequest) *admissionapi.AdmissionResponse {
		return &admissionapi.AdmissionResponse{}
	})
	a.validating(t, "conditions", admissionv1.ValidatingWebhook{
		Name: "conditions.example.com", ClientConfig: a.hooks.client("/conditions"), Rules: onConfigMaps("CREATE"),
		MatchConditions: []admissionv1.MatchCondition{
			{Name: "named", Expression: "!object.metadata.name.startsWith('skip')"},
			{Name: "fails", Expression: "object.metadata.name != 'error' || object.data.missing == ''"},
			{Name: "may", Expression: "authorizer.requestResource.check('create').allowed() && namespaceObject.metadata.name == 'conditions'"},
		},
	})
	a.active(t, "conditions", refused)
	if _, err := a.create(t, "conditions", "a", metav1.CreateOptions{}); err == nil ||
		!strings.Contains(err.Error(), "denied the request without explanation") {
		t.Errorf("%v", err)
	}
	if _, err := a.create(t, "conditions", "skip", metav1.CreateOptions{}); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := a.create(t, "conditions", "error", metav1.CreateOptions{}); !apierrors.IsForbidden(err) ||
		!strings.Contains(err.Error(), "no such key: missing") {
		t.Errorf("%v", err)
	}
}

func patches(t *testing.T, a *admitted) {
	a.namespace(t, "patches")
	a.hooks.serve("/patches", patching(`[{"op":"add","path":"/data/added","value":"x"},{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`))
	a.mutating(t, "patches", admissionv1.MutatingWebhook{Name: "patches.example.com",
		ClientConfig: a.hooks.client("/patches"), Rules: onConfigMaps("CREATE", "DELETE")})
	a.active(t, "patches", func(m *corev1.ConfigMap, err error) bool { return err == nil && m.Data["added"] == "x" })
	m, err := a.create(t, "patches", "a", metav1.CreateOptions{})
	if err != nil || m.Labels["a"] != "b" || m.Data["k"] != "v" {
		t.Errorf("%v, %v", m, err)
	}
	if stored, err := a.client.CoreV1().ConfigMaps("patches").Get(t.Context(), "a", metav1.GetOptions{}); err != nil ||
		stored.Data["added"] != "x" {
		t.Errorf("%v, %v", stored, err)
	}
	err = a.client.CoreV1().ConfigMaps("patches").Delete(t.Context(), "a", metav1.DeleteOptions{})
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "attempted to modify the object, which is not supported for this operation") {
		t.Errorf("a patch of a deletion: %v", err)
	}
}

// secondRound has a webhook that sees what a later one added, as it asks to be
// asked again.
func secondRound(t *testing.T, a *admitted) {
	a.namespace(t, "again")
	a.hooks.serve("/first", func(r *admissionapi.AdmissionRequest) *admissionapi.AdmissionResponse {
		if strings.Contains(string(r.Object.Raw), `"second"`) {
			return patching(`[{"op":"add","path":"/data/saw","value":"it"}]`)(r)
		}
		return allow(r)
	})
	a.hooks.serve("/second", patching(`[{"op":"add","path":"/data/second","value":"x"}]`))
	rules := onConfigMaps("CREATE")
	a.mutating(t, "again",
		admissionv1.MutatingWebhook{Name: "first.example.com", ClientConfig: a.hooks.client("/first"), Rules: rules,
			ReinvocationPolicy: ptr.To(admissionv1.IfNeededReinvocationPolicy)},
		admissionv1.MutatingWebhook{Name: "second.example.com", ClientConfig: a.hooks.client("/second"), Rules: rules})
	a.active(t, "again", func(m *corev1.ConfigMap, err error) bool { return err == nil && m.Data["second"] == "x" })
	second := len(a.hooks.requests("/second"))
	m, err := a.create(t, "again", "a", metav1.CreateOptions{})
	if err != nil || m.Data["saw"] != "it" {
		t.Errorf("%v, %v", m, err)
	}
	if n := len(a.hooks.requests("/second")) - second; n != 1 {
		t.Errorf("the second webhook was asked %d times", n)
	}
}

// services has the server find a webhook through a Service; its certificate has to
// be good for the Service's name.
func services(t *testing.T, a *admitted) {
	a.namespace(t, "services")
	_, err := a.client.CoreV1().Services("services").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "hook"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cert, ca := certificateFor(t, "hook.services.svc")
	server := httptest.NewUnstartedServer(a.hooks)
	server.TLS = cert
	server.StartTLS()
	defer server.Close()
	a.hooks.serve("/service", func(*admissionapi.AdmissionRequest) *admissionapi.AdmissionResponse {
		return &admissionapi.AdmissionResponse{Result: &metav1.Status{Reason: "Because"}}
	})
	a.validating(t, "services", admissionv1.ValidatingWebhook{
		Name: "service.example.com", Rules: onConfigMaps("CREATE"),
		ClientConfig: admissionv1.WebhookClientConfig{CABundle: ca, Service: &admissionv1.ServiceReference{
			Namespace: "services", Name: "hook", Path: ptr.To("/service"), Port: ptr.To(portOf(t, server.URL)),
		}},
	})
	a.active(t, "services", refused)
	if _, err := a.create(t, "services", "a", metav1.CreateOptions{}); err == nil || err.Error() != `admission webhook "service.example.com" denied the request: Because` {
		t.Errorf("%v", err)
	}
}

const twoVersions = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"cats.example.com"},"spec":{
"group":"example.com","scope":"Namespaced","names":{"plural":"cats","kind":"Cat"},"versions":[
{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// otherVersions has a webhook whose rule names another version than the request:
// it is shown the object in its own.
func otherVersions(t *testing.T, a *admitted) {
	a.namespace(t, "versions")
	crds := a.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"})
	crd := &unstructured.Unstructured{}
	if err := crd.UnmarshalJSON([]byte(twoVersions)); err != nil {
		t.Fatal(err)
	}
	if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.hooks.serve("/versions", patching(`[{"op":"add","path":"/saw","value":"v1"}]`))
	a.mutating(t, "versions", admissionv1.MutatingWebhook{
		Name: "versions.example.com", ClientConfig: a.hooks.client("/versions"),
		Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{"CREATE"},
			Rule: admissionv1.Rule{
				APIGroups: []string{"example.com"}, APIVersions: []string{"v1"}, Resources: []string{"cats"},
			}}},
	})
	cats := a.dynamic.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "cats"}).
		Namespace("versions")
	cat := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v2", "kind": "Cat",
		"metadata": map[string]any{"name": "tom"}}}
	harness.Eventually(t, func() error {
		got, err := cats.Create(t.Context(), cat, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err
		}
		if got.Object["saw"] != "v1" || got.GetAPIVersion() != "example.com/v2" {
			return fmt.Errorf("%v", got.Object)
		}
		return nil
	})
	seen := a.hooks.requests("/versions")
	if r := seen[len(seen)-1]; r.Kind.Version != "v1" || r.RequestKind.Version != "v2" ||
		!strings.Contains(string(r.Object.Raw), `"apiVersion":"example.com/v1"`) {
		t.Errorf("%+v: %s", r, r.Object.Raw)
	}
}
