package configured

import (
	"context"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"go.uber.org/goleak"

	"triplane.dev/generic/api/informers/informerstest"
	"triplane.dev/generic/guard/admission"
)

func TestFollowsThePolicies(t *testing.T) {
	t.Run("from the start", func(t *testing.T) { testFollow(t, false) })
	t.Run("from the first write", func(t *testing.T) { testFollow(t, true) })
}

func testFollow(t *testing.T, onDemand bool) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	rules := &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{"*"},
		Rule:       admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
	}}}}
	factory, objects := informerstest.New(
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: rules, Validations: []admissionv1.Validation{{Expression: "false"}},
		}},
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "p", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		}},
	)
	d := New(Config{OnDemand: onDemand})
	var plugins []admission.Named
	for _, enable := range []func([]byte) (admission.Interface, error){d.MutatingPolicies, d.MutatingWebhooks, d.ValidatingPolicies, d.ValidatingWebhooks} {
		plugin, err := enable(nil)
		if err != nil {
			t.Fatal(err)
		}
		plugins = append(plugins, admission.Named{Plugin: plugin})
	}
	chain := admission.NewChain(nil, plugins...)
	if !chain.Handles(admission.Create) {
		t.Error("requests pass before the policies are known")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Follow(ctx, factory, "v1")
	}()
	if onDemand {
		if err := d.Await(ctx); err != nil || d.Following() != nil || d.gate.IsOpen() {
			t.Errorf("it waits for the first write with %v and %v, open: %v", err, d.Following(), d.gate.IsOpen())
		}
	}
	create := func() error {
		return chain.Validate(t.Context(), &admission.Attributes{
			Operation: admission.Create, Object: &corev1.ConfigMap{}, Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		})
	}
	if err := create(); err == nil {
		t.Error("the existing policy is not in effect")
	}
	if err := objects.Delete(admissionv1.SchemeGroupVersion.WithResource("validatingadmissionpolicybindings"), "", "b"); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(10 * time.Second); create() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("the policy outlives its binding")
			break
		}
	}
	if chain.Handles(admission.Create) {
		t.Error("nothing is to be handled any more")
	}
	cancel()
	<-done
}
