// Which requests rules match: equivalent resources, subresources, connections, tokens, policies on
// webhooks.

package admission

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionapi "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"triplane.dev/e2e/harness"
)

func TestWhatAdmissionSees(t *testing.T) {
	a := newAdmitted(t)
	t.Run("status and scale of other versions", func(t *testing.T) { equivalentSubresources(t, a) })
	t.Run("objects of another group", func(t *testing.T) { equivalentGroups(t, a) })
	t.Run("audiences of tokens", func(t *testing.T) { tokenAudiences(t, a) })
	t.Run("connect", func(t *testing.T) { connections(t, a) })
	t.Run("configurations of webhooks", func(t *testing.T) { policiesSeeWebhooks(t, a) })
	t.Run("requests that end first", func(t *testing.T) { requestEnds(t, a) })
}

func rule(group, version string, op admissionv1.OperationType, resources ...string) []admissionv1.RuleWithOperations {
	return []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{op}, Rule: admissionv1.Rule{
		APIGroups: []string{group}, APIVersions: []string{version}, Resources: resources,
	}}}
}

const scaledVersions = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"dogs.example.com"},"spec":{
"group":"example.com","scope":"Namespaced","names":{"plural":"dogs","kind":"Dog"},"versions":[
{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},
 "subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}}},
{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},
 "subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}}}]}}`

// equivalentSubresources has a webhook about status and scale in v1 asked when they change
// in v2: with the status in v1, and with the scale, which is of no version of the resource.
func equivalentSubresources(t *testing.T, a *admitted) {
	a.namespace(t, "dogs")
	crds := a.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"})
	crd := &unstructured.Unstructured{}
	if err := crd.UnmarshalJSON([]byte(scaledVersions)); err != nil {
		t.Fatal(err)
	}
	if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	dogs := a.dynamic.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "dogs"}).
		Namespace("dogs")
	dog := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v2", "kind": "Dog",
		"metadata": map[string]any{"name": "rex"}, "spec": map[string]any{"replicas": int64(1)}}}
	harness.Eventually(t, func() error {
		_, err := dogs.Create(t.Context(), dog, metav1.CreateOptions{})
		return err
	})
	a.hooks.serve("/dogs", allow)
	a.validating(t, "dogs", admissionv1.ValidatingWebhook{Name: "dogs.example.com",
		ClientConfig: a.hooks.client("/dogs"),
		Rules:        rule("example.com", "v1", "UPDATE", "dogs/status", "dogs/scale")})
	for sub, kind := range map[string]string{"status": "example.com/v1, Kind=Dog",
		"scale": "autoscaling/v1, Kind=Scale"} {
		r := askedOnUpdate(t, a, dogs, sub)
		if got := schema.GroupVersionKind(r.Kind).String(); got != kind || r.Resource.Version != "v1" ||
			r.RequestResource.Version != "v2" || r.SubResource != sub {
			t.Errorf("%s: kind %s, resource %v for %v", sub, got, r.Resource, r.RequestResource)
		}
		group, name, _ := strings.Cut(kind, ", Kind=")
		for _, want := range []string{`"apiVersion":"` + group + `"`, `"kind":"` + name + `"`} {
			if !strings.Contains(string(r.Object.Raw), want) || !strings.Contains(string(r.OldObject.Raw), want) {
				t.Errorf("%s: %s after %s, want %s", sub, r.Object.Raw, r.OldObject.Raw, want)
			}
		}
	}
}

// equivalentGroups has a webhook about events of the core group asked when one comes by
// events.k8s.io, in the form of the core group.
func equivalentGroups(t *testing.T, a *admitted) {
	a.namespace(t, "happenings")
	a.hooks.serve("/happenings", allow)
	a.validating(t, "happenings", admissionv1.ValidatingWebhook{Name: "happenings.example.com",
		ClientConfig: a.hooks.client("/happenings"),
		Rules:        rule("", "v1", "CREATE", "events")})
	event := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}, EventTime: metav1.NowMicro(), Type: "Normal",
		Reason: "r", Action: "a",
		ReportingController: "example.com/c", ReportingInstance: "i",
		Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: "happenings", Name: "p"}}
	harness.Eventually(t, func() error {
		if _, err := a.client.EventsV1().Events("happenings").Create(t.Context(), event,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			return err
		}
		if len(a.hooks.requests("/happenings")) == 0 {
			return errors.New("nobody was asked")
		}
		return nil
	})
	r := a.hooks.requests("/happenings")[0]
	object := string(r.Object.Raw)
	if r.Kind.Group != "" || r.Resource.Group != "" || r.RequestKind.Group != "events.k8s.io" ||
		r.RequestResource.Group != "events.k8s.io" ||
		!strings.Contains(object, `"apiVersion":"v1"`) || !strings.Contains(object, `"involvedObject"`) {
		t.Errorf("%+v: %s", r, object)
	}
}

// tokenAudiences has a webhook see for whom a token is that is asked for without audiences.
func tokenAudiences(t *testing.T, a *admitted) {
	a.namespace(t, "tokens")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	if _, err := a.client.CoreV1().ServiceAccounts("tokens").Create(t.Context(), account,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.hooks.serve("/tokens", allow)
	a.validating(t, "tokens", admissionv1.ValidatingWebhook{Name: "tokens.example.com",
		ClientConfig: a.hooks.client("/tokens"),
		Rules:        rule("", "v1", "CREATE", "serviceaccounts/token")})
	harness.Eventually(t, func() error {
		if _, err := a.client.CoreV1().ServiceAccounts("tokens").CreateToken(t.Context(), "robot",
			&authenticationv1.TokenRequest{}, metav1.CreateOptions{}); err != nil {
			return err
		}
		if len(a.hooks.requests("/tokens")) == 0 {
			return errors.New("nobody was asked")
		}
		return nil
	})
	if object := string(a.hooks.requests("/tokens")[0].Object.Raw); !strings.Contains(object, `"audiences":["`) {
		t.Error(object)
	}
}

// askedOnUpdate changes a subresource until the webhook is asked about it.
func askedOnUpdate(t *testing.T, a *admitted, dogs dynamic.ResourceInterface,
	sub string) *admissionapi.AdmissionRequest {
	t.Helper()
	patch := map[string]string{"status": `{"status":{"replicas":3}}`, "scale": `{"spec":{"replicas":3}}`}[sub]
	var last *admissionapi.AdmissionRequest
	harness.Eventually(t, func() error {
		if _, err := dogs.Patch(t.Context(), "rex", types.MergePatchType, []byte(patch),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, sub); err != nil {
			return err
		}
		for _, r := range a.hooks.requests("/dogs") {
			if r.SubResource == sub {
				last = r
				return nil
			}
		}
		return fmt.Errorf("nobody was asked about %s", sub)
	})
	return last
}

// connections has a webhook change the options of an exec, and a policy refuse one by
// them.
func connections(t *testing.T, a *admitted) {
	a.namespace(t, "connect")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := a.client.CoreV1().ServiceAccounts("connect").Create(t.Context(), account,
		metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if _, err := a.client.CoreV1().Pods("connect").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.hooks.serve("/connect", patching(`[{"op":"add","path":"/container","value":"other"}]`))
	a.mutating(t, "connect", admissionv1.MutatingWebhook{Name: "connect.example.com",
		ClientConfig: a.hooks.client("/connect"),
		Rules:        rule("", "v1", "CONNECT", "pods/exec")})
	exec := func(command string) error {
		return a.client.CoreV1().RESTClient().Post().Namespace("connect").Resource("pods").Name("p").
			SubResource("exec").
			Param("command", command).Param("container", "c").Param("stdout", "true").Do(t.Context()).Error()
	}
	harness.Eventually(t, func() error {
		if err := exec("ls"); err == nil || !strings.Contains(err.Error(), "container other is not valid for pod p") {
			return fmt.Errorf("not changed: %v", err) //nolint:errorlint // the error may be nil
		}
		return nil
	})
	r := a.hooks.requests("/connect")[0]
	if r.Kind.Kind != "PodExecOptions" || r.Operation != "CONNECT" || r.Options.Raw != nil || r.Name != "p" ||
		r.SubResource != "exec" ||
		!strings.Contains(string(r.Object.Raw), `"kind":"PodExecOptions","apiVersion":"v1"`) ||
		!strings.Contains(string(r.Object.Raw), `"command":["ls"]`) {
		t.Errorf("%+v: %s", r, r.Object.Raw)
	}
	policy(t, a, "connect", rule("", "v1", "CONNECT", "pods/exec"), "object.kind != 'PodExecOptions' || object.command != ['rm']")
	harness.Eventually(t, func() error {
		if err := exec("rm"); err == nil || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'connect'") {
			return fmt.Errorf("not refused: %v", err) //nolint:errorlint // the error may be nil
		}
		return nil
	})
}

// policy creates a policy with one expression, and binds it.
func policy(t *testing.T, a *admitted, name string, rules []admissionv1.RuleWithOperations, expression string) {
	t.Helper()
	kinds := a.client.AdmissionregistrationV1()
	_, err := kinds.ValidatingAdmissionPolicies().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: rules[0]}}},
			Validations:      []admissionv1.Validation{{Expression: expression}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kinds.ValidatingAdmissionPolicyBindings().Create(t.Context(),
		&admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name,
				ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
		}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// policiesSeeWebhooks has a policy refuse the configuration of a webhook, as webhooks
// cannot, and not see another policy.
func policiesSeeWebhooks(t *testing.T, a *admitted) {
	policy(t, a, "no-bad-names", rule("admissionregistration.k8s.io", "*", "CREATE", "*"),
		"object.metadata.name != 'bad'")
	hooks := a.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	harness.Eventually(t, func() error {
		_, err := hooks.Create(t.Context(), &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "bad"}}, dry)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'no-bad-names'") {
			return fmt.Errorf("not refused: %v", err) //nolint:errorlint // the error may be nil
		}
		return nil
	})
	bindings := a.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	if _, err := bindings.Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bad"},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "x",
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}, dry); err != nil {
		t.Errorf("a binding is refused: %v", err)
	}
}

// requestEnds has a webhook take longer than its request may, whether its failures are ignored
// or not.
func requestEnds(t *testing.T, a *admitted) {
	a.namespace(t, "ends")
	release := make(chan struct{})
	defer close(release)
	a.hooks.serve("/ends", func(*admissionapi.AdmissionRequest) *admissionapi.AdmissionResponse {
		<-release
		return &admissionapi.AdmissionResponse{Allowed: true}
	})
	a.validating(t, "ends", admissionv1.ValidatingWebhook{Name: "ends.example.com",
		ClientConfig: a.hooks.client("/ends"),
		Rules:        onConfigMaps("CREATE"), TimeoutSeconds: ptr.To[int32](30)})
	create := func() error {
		return a.client.CoreV1().RESTClient().Post().Namespace("ends").Resource("configmaps").Param("timeout", "1s").
			Param("dryRun", "All").
			Body(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).Do(t.Context()).Error()
	}
	const want = "Timeout: request did not complete within the allotted timeout"
	for _, failures := range []admissionv1.FailurePolicyType{"Fail", "Ignore"} {
		patch := fmt.Sprintf(`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":%q}]`, failures)
		confs := a.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
		if _, err := confs.Patch(t.Context(), "ends", types.JSONPatchType, []byte(patch),
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, func() error {
			if err := create(); !apierrors.IsTimeout(err) || err.Error() != want {
				return fmt.Errorf("%s: %v", failures, err) //nolint:errorlint // the error may be nil
			}
			return nil
		})
	}
}
