package triplane

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// TestMetricsOfDeletedObjectsAreRemoved creates objects whose names are metric labels, and expects that their
// series are removed after their deletion.
func TestMetricsOfDeletedObjectsAreRemoved(t *testing.T) {
	s := startServer(t, t.TempDir())
	config, err := s.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, s)
	for i := range 3 {
		nameInMetrics(t, config, c, fmt.Sprintf("grown-%d", i))
	}
	awaitSeries(t, c, func(n int) bool { return n >= 3 })
	for i := range 3 {
		name := fmt.Sprintf("grown-%d", i)
		ctx, gone := context.Background(), metav1.DeleteOptions{}
		for _, err := range []error{
			c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(ctx, name, gone),
			c.FlowcontrolV1().FlowSchemas().Delete(ctx, name, gone),
			c.FlowcontrolV1().PriorityLevelConfigurations().Delete(ctx, name, gone),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	awaitSeries(t, c, func(n int) bool { return n == 0 })
}

// nameInMetrics creates objects with a name, and sends a request that uses all of them.
func nameInMetrics(t *testing.T, config *restclient.Config, c kubernetes.Interface, name string) {
	t.Helper()
	ctx, meta := context.Background(), metav1.ObjectMeta{Name: name}
	hooks := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: meta,
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: name + ".example.com", FailurePolicy: ptr.To(admissionv1.Ignore), SideEffects: ptr.To(admissionv1.SideEffectClassNone),
			ClientConfig:            admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/")},
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{"CREATE"},
				Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}},
		}}}
	_, err := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, hooks, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.FlowcontrolV1().PriorityLevelConfigurations().Create(ctx, &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: meta,
		Spec: flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.FlowcontrolV1().FlowSchemas().Create(ctx, &flowcontrolv1.FlowSchema{ObjectMeta: meta, Spec: flowcontrolv1.FlowSchemaSpec{
		MatchingPrecedence: 100, PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: name},
		Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
			Subjects:         []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: name}}},
			NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}},
		}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	as := restclient.CopyConfig(config)
	as.Impersonate.UserName = name
	user, err := kubernetes.NewForConfig(as)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := user.Discovery().ServerVersion(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestUnusedDefinitionsHaveNoSeries creates definitions that no client uses. What goes through all resources, as the
// end of a namespace does, creates no series for them either: 2,000 of them had 62,000 once.
func TestUnusedDefinitionsHaveNoSeries(t *testing.T) {
	const definitions = 20
	o := testOptions(t.TempDir())
	o.Controllers.Selection = nil // all
	s := startServerWith(t, o)
	c, ctx := client(t, s), context.Background()
	do := func(method *restclient.Request, path, body string) error {
		return method.AbsPath(path).SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(ctx).Error()
	}
	for i := range definitions {
		err := do(c.Discovery().RESTClient().Post(), "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", fmt.Sprintf(
			`{"metadata":{"name":"grown-%[1]d.unused.example.com"},"spec":{"group":"unused.example.com","scope":"Namespaced",
				"names":{"plural":"grown-%[1]d","kind":"Grown%[1]d"},"versions":[{"name":"v1","served":true,"storage":true,
				"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, i))
		if err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all definitions in discovery", func() bool {
		list, err := c.Discovery().ServerResourcesForGroupVersion("unused.example.com/v1")
		return err == nil && len(list.APIResources) == definitions
	})
	namespaces := c.CoreV1().Namespaces()
	if _, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ends"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := namespaces.Delete(ctx, "ends", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the namespace", func() bool {
		_, err := namespaces.Get(ctx, "ends", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	awaitSeries(t, c, func(n int) bool { return n == 0 })
	if err := do(c.Discovery().RESTClient().Post(), "/apis/unused.example.com/v1/namespaces/default/grown-0",
		`{"apiVersion":"unused.example.com/v1","kind":"Grown0","metadata":{"name":"a"}}`); err != nil {
		t.Fatal(err)
	}
	awaitSeries(t, c, func(n int) bool { return n > 0 }) // now it is used
}

func awaitSeries(t *testing.T, c kubernetes.Interface, enough func(int) bool) {
	t.Helper()
	var named []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		b, err := c.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		named = slices.DeleteFunc(strings.Split(string(b), "\n"), func(line string) bool { return !strings.Contains(line, `"grown-`) })
		if enough(len(named)) {
			return
		}
	}
	t.Errorf("%d series name the objects: %.2000v", len(named), named)
}
