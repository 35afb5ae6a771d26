package triplane

import (
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const admissionConfiguration = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {enforce: baseline}
    exemptions: {namespaces: [kube-system]}
- name: ResourceQuota
  path: quota.yaml
`

const limitedStorage = `apiVersion: apiserver.config.k8s.io/v1
kind: ResourceQuotaConfiguration
limitedResources:
- {resource: persistentvolumeclaims, matchContains: [requests.storage]}
`

// TestAdmissionConfiguration starts a server with a configuration file of admission plugins, and checks their
// metrics.
func TestAdmissionConfiguration(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "quota.yaml"), limitedStorage)
	o := podOptions(t)
	o.Admission.ConfigFile = write(t, filepath.Join(dir, "admission.yaml"), admissionConfiguration)
	o.Admission.Enable = []string{"NamespaceAutoProvision"}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	c := client(t, s)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"}, Spec: corev1.PodSpec{HostPID: true, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	_, err = c.CoreV1().Pods("made").Create(t.Context(), pod, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `violates PodSecurity "baseline:latest"`) {
		t.Errorf("%v", err)
	}
	if _, err := c.CoreV1().Namespaces().Get(t.Context(), "made", metav1.GetOptions{}); err != nil {
		t.Errorf("the namespace was not made: %v", err)
	}
	if _, err = c.CoreV1().Pods("kube-system").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Errorf("an exempt namespace: %v", err)
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	_, err = c.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), claim, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "insufficient quota to consume: requests.storage") {
		t.Errorf("%v", err)
	}
	counted(t, s, `apiserver_admission_controller_admission_duration_seconds_count{name="PodSecurity",operation="CREATE",rejected="true",type="validate"} 1`,
		`apiserver_admission_step_admission_duration_seconds_count{operation="CREATE",rejected="true",type="validate"} 2`,
		`apiserver_admission_step_admission_duration_seconds_summary{operation="CREATE",rejected="true",type="validate",quantile="0.5"}`)
	failingWebhook(t, s)
}

// failingWebhook checks the metrics of webhooks that are unreachable.
func failingWebhook(t *testing.T, s *Server) {
	t.Helper()
	c := client(t, s)
	hook := admissionv1.ValidatingWebhook{
		Name: "open.example.com", ClientConfig: admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1")},
		SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}, FailurePolicy: ptr.To(admissionv1.Ignore),
		Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{"CREATE"}, Rule: admissionv1.Rule{
			APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}}}},
		MatchConditions: []admissionv1.MatchCondition{{Name: "other", Expression: "object.metadata.name != 'skipped'"}},
	}
	closed := *hook.DeepCopy()
	closed.Name, closed.FailurePolicy = "closed.example.com", ptr.To(admissionv1.Fail)
	configuration := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "w"}, Webhooks: []admissionv1.ValidatingWebhook{hook, closed}}
	if _, err := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	create := func(name string) error {
		_, err := c.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	eventually(t, "the webhook is in force", func() bool { return apierrors.IsInternalError(create("a")) })
	if err := create("skipped"); err != nil {
		t.Error(err)
	}
	counted(t, s, `apiserver_admission_webhook_fail_open_count{name="open.example.com",type="validating"} 1`,
		`apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error",name="closed.example.com",operation="CREATE",rejection_code="0",type="validating"} 1`,
		`apiserver_admission_webhook_request_total{code="0",name="closed.example.com",operation="CREATE",rejected="true",type="validating"} 1`,
		`apiserver_admission_webhook_admission_duration_seconds_count{name="open.example.com",operation="CREATE",rejected="false",type="validating"} 1`,
		`apiserver_admission_match_condition_exclusions_total{kind="webhook",name="open.example.com",operation="CREATE",type="validating"} 1`)
}

// counted checks that /metrics has lines with these prefixes.
func counted(t *testing.T, s *Server, lines ...string) {
	t.Helper()
	text := s.metrics(t)
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line) {
			name, _, _ := strings.Cut(line, "{")
			var have []string
			for l := range strings.Lines(text) {
				if strings.HasPrefix(l, name) {
					have = append(have, l)
				}
			}
			t.Errorf("%s is not counted: %s", line, strings.Join(have, ""))
		}
	}
}

func TestAdmissionConfigurationIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(admissionConfiguration, "baseline", "strict", 1): `couldn't init admission plugin "PodSecurity": defaults.enforce: Invalid value: "strict"`,
		admissionConfiguration: `couldn't init admission plugin "ResourceQuota": couldn't open admission plugin configuration`,
		"kind: X":              "unable to decode admission control configuration",
	} {
		o := testOptions(t.TempDir())
		o.Admission.ConfigFile = write(t, filepath.Join(t.TempDir(), "admission.yaml"), text)
		if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
