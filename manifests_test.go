package triplane

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// A policy that rejects names, with its binding: of config maps, and of webhooks of the API.
const refusingManifest = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refuse.static.k8s.io}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: ["", admissionregistration.k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [configmaps, validatingwebhookconfigurations, validatingadmissionpolicybindings]}
  validations: [{expression: "object.metadata.name != 'NAME'", message: not NAME}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refuse.static.k8s.io}
spec: {policyName: refuse.static.k8s.io, validationActions: [Deny]}
`

const markingManifest = `apiVersion: v1
kind: List
items:
- apiVersion: admissionregistration.k8s.io/v1
  kind: MutatingAdmissionPolicy
  metadata: {name: mark.static.k8s.io}
  spec:
    matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: ["*"], operations: [CREATE], resources: [configmaps]}]}
    reinvocationPolicy: Never
    mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'static': 'yes'}}}"}}]
- {apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: mark.static.k8s.io}, spec: {policyName: mark.static.k8s.io}}
`

// The webhook's address has no listener.
const unreachableManifest = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ask.static.k8s.io}
webhooks:
- name: ask.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [admissionregistration.k8s.io], apiVersions: ["*"], operations: [DELETE], resources: [validatingwebhookconfigurations]}]
  sideEffects: None
  admissionReviewVersions: [v1]
`

// manifestOptions are the options of a server whose admission plugins read manifests below dir.
func manifestOptions(t *testing.T, dir string, flags ...string) *Options {
	t.Helper()
	config := "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
	for plugin, kind := range map[string]string{
		"ValidatingAdmissionWebhook": "WebhookAdmissionConfiguration", "MutatingAdmissionWebhook": "WebhookAdmissionConfiguration",
		"ValidatingAdmissionPolicy": "ValidatingAdmissionPolicyConfiguration", "MutatingAdmissionPolicy": "MutatingAdmissionPolicyConfiguration",
	} {
		if err := os.Mkdir(filepath.Join(dir, plugin), 0o700); err != nil {
			t.Fatal(err)
		}
		config += fmt.Sprintf("- name: %s\n  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: %s, staticManifestsDir: %s}\n", plugin, kind, filepath.Join(dir, plugin))
	}
	file := write(t, filepath.Join(dir, "admission.yaml"), config)
	o, err := Parse("", append([]string{"--admission-control-config-file", file, "--data-dir", filepath.Join(dir, "data"), "--secure-port=0", "--controllers=none"}, flags...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Policies and webhooks of files are in effect from the start, apply to changes of those in the API, and are
// reloaded.
func TestAdmissionManifests(t *testing.T) {
	dir := t.TempDir()
	o := manifestOptions(t, dir, "--feature-gates=ManifestBasedAdmissionControlConfig=true")
	policy := filepath.Join(dir, "ValidatingAdmissionPolicy", "refuse.yaml")
	write(t, policy, strings.ReplaceAll(refusingManifest, "NAME", "first"))
	write(t, filepath.Join(dir, "MutatingAdmissionPolicy", "mark.yaml"), markingManifest)
	write(t, filepath.Join(dir, "ValidatingAdmissionWebhook", "ask.yaml"), unreachableManifest)
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	c := client(t, s)

	refuses(t, tryConfigMap(t, c, "first"), "ValidatingAdmissionPolicy 'refuse.static.k8s.io' with binding 'refuse.static.k8s.io' denied request: not first")
	made, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "marked"}}, metav1.CreateOptions{})
	if err != nil || made.Labels["static"] != "yes" {
		t.Errorf("%v, %v", made.Labels, err)
	}
	hooks, bindings := c.AdmissionregistrationV1().ValidatingWebhookConfigurations(), c.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	_, err = hooks.Create(t.Context(), hookConfiguration("first"), metav1.CreateOptions{})
	refuses(t, err, "not first")
	_, err = bindings.Create(t.Context(), policyBinding("first"), metav1.CreateOptions{})
	refuses(t, err, "not first")
	_, err = hooks.Create(t.Context(), hookConfiguration("a.static.k8s.io"), metav1.CreateOptions{})
	refuses(t, err, `metadata.name: Invalid value: "a.static.k8s.io": names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API`)
	if _, err := hooks.Create(t.Context(), hookConfiguration("other"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	refuses(t, hooks.Delete(t.Context(), "other", metav1.DeleteOptions{}), `failed calling webhook "ask.example.com"`)

	write(t, policy, strings.ReplaceAll(refusingManifest, "NAME", "second"))
	eventually(t, "the changed policy is in force", func() bool {
		return tryConfigMap(t, c, "first") == nil && tryConfigMap(t, c, "second") != nil
	})
	write(t, filepath.Join(dir, "ValidatingAdmissionPolicy", "broken.yaml"), "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n")
	eventually(t, "the broken manifest is counted", func() bool {
		return manifestReloads(t, c, "ValidatingAdmissionPolicy", "failure") > 0
	})
	refuses(t, tryConfigMap(t, c, "second"), "not second")
	if n := manifestReloads(t, c, "ValidatingAdmissionPolicy", "success"); n != 2 {
		t.Errorf("%v successful reloads, want 2", n)
	}
}

// Without the feature gate, manifests are not read.
func TestAdmissionManifestsNeedTheirGate(t *testing.T) {
	if _, err := Start(t.Context(), manifestOptions(t, t.TempDir(), "--feature-gates=ManifestBasedAdmissionControlConfig=false")); err == nil ||
		!strings.Contains(err.Error(), `couldn't init admission plugin "MutatingAdmissionPolicy": staticManifestsDir: Forbidden: staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled`) {
		t.Errorf("%v", err)
	}
}

func hookConfiguration(name string) *admissionv1.ValidatingWebhookConfiguration {
	return &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func policyBinding(name string) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "p", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}
}

// tryConfigMap creates a config map with dry run.
func tryConfigMap(t *testing.T, c kubernetes.Interface, name string) error {
	t.Helper()
	_, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func refuses(t *testing.T, err error, why string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%v, want %s", err, why)
	}
}

func manifestReloads(t *testing.T, c kubernetes.Interface, plugin, status string) float64 {
	t.Helper()
	family := scrape(t, c.CoreV1().RESTClient())["apiserver_manifest_admission_config_controller_automatic_reloads_total"]
	for _, m := range family.GetMetric() {
		have := map[string]string{}
		for _, l := range m.GetLabel() {
			have[l.GetName()] = l.GetValue()
		}
		if have["plugin"] == plugin && have["status"] == status {
			return m.GetCounter().GetValue()
		}
	}
	return 0
}
