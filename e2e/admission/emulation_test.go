// MutatingAdmissionPolicies of an emulated release in which they are a beta.

package admission

import (
	"errors"
	"testing"

	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"triplane.dev/e2e/harness"
)

// TestMutatingPoliciesOfABeta runs a server that is like v1.35, in which
// MutatingAdmissionPolicies are a beta that has to be switched on: they are in force.
func TestMutatingPoliciesOfABeta(t *testing.T) {
	s := harness.Start(t, "--emulated-version=1.35", "--feature-gates=MutatingAdmissionPolicy=true",
		"--runtime-config=admissionregistration.k8s.io/v1beta1=true")
	client := kubernetes.NewForConfigOrDie(s.Config)
	api := client.AdmissionregistrationV1beta1()
	if _, err := api.MutatingAdmissionPolicies().Create(t.Context(), &admissionv1beta1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "beta"},
		Spec: admissionv1beta1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1beta1.MatchResources{ResourceRules: []admissionv1beta1.NamedRuleWithOperations{{RuleWithOperations: admissionv1beta1.RuleWithOperations{
				Operations: []admissionv1beta1.OperationType{admissionv1beta1.Create},
				Rule: admissionv1beta1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
					Resources: []string{"configmaps"}},
			}}}},
			FailurePolicy:      ptr.To(admissionv1beta1.Fail),
			ReinvocationPolicy: admissionv1beta1.NeverReinvocationPolicy,
			Mutations: []admissionv1beta1.Mutation{{PatchType: admissionv1beta1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionv1beta1.ApplyConfiguration{Expression: "Object{data: {'by': 'beta'}}"}}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.MutatingAdmissionPolicyBindings().Create(t.Context(),
		&admissionv1beta1.MutatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "beta"},
			Spec:       admissionv1beta1.MutatingAdmissionPolicyBindingSpec{PolicyName: "beta"},
		}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, func() error {
		got, err := client.CoreV1().ConfigMaps("default").Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "c-"}}, metav1.CreateOptions{})
		if err == nil && got.Data["by"] != "beta" {
			return errors.New("the policy is not in force")
		}
		return err
	})
}
