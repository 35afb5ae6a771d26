// Admission policies: parameters of custom kinds, mutations, and the budget of an evaluation.

package admission

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"triplane.dev/e2e/harness"
)

const limitsAndDogs = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[1]ss.pets.example.com"},"spec":{
"group":"pets.example.com","scope":"%[2]s","names":{"plural":"%[1]ss","kind":"%[3]s"},"versions":[
{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
"max":{"type":"integer"},"name":{"type":"string"},
"tags":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["key"],"items":{"type":"object","required":["key"],"properties":{"key":{"type":"string"},"value":{"type":"string"}}}},
"list":{"type":"array","items":{"type":"string"}}}}}}]}}`

func (a *admitted) define(t *testing.T, singular, scope, kind string) schema.GroupVersionResource {
	t.Helper()
	crd := &unstructured.Unstructured{}
	if err := crd.UnmarshalJSON(fmt.Appendf(nil, limitsAndDogs, singular, scope, kind)); err != nil {
		t.Fatal(err)
	}
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	if _, err := a.dynamic.Resource(crds).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	gvr := schema.GroupVersionResource{Group: "pets.example.com", Version: "v1", Resource: singular + "s"}
	harness.Eventually(t, func() error {
		_, err := a.dynamic.Resource(gvr).List(t.Context(), metav1.ListOptions{})
		return err
	})
	return gvr
}

func pet(kind, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "pets.example.com/v1", "kind": kind,
		"metadata": map[string]any{"name": name}}}
	for k, v := range fields {
		u.Object[k] = v
	}
	return u
}

// onAll matches creations of a resource in a namespace.
func onAll(namespace, group, resource string) *admissionv1.MatchResources {
	return &admissionv1.MatchResources{
		NamespaceSelector: inNamespace(namespace),
		ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{"CREATE"},
			Rule: admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"},
				Resources: []string{resource}},
		}}},
	}
}

func TestPolicies(t *testing.T) {
	a := newAdmitted(t)
	t.Run("params are custom resources", func(t *testing.T) { customParams(t, a) })
	t.Run("mutations of custom resources", func(t *testing.T) { customMutations(t, a) })
	t.Run("evaluation is bounded", func(t *testing.T) { boundedEvaluation(t, a) })
}

func (a *admitted) validatingPolicy(t *testing.T, name string, spec admissionv1.ValidatingAdmissionPolicySpec,
	params *admissionv1.ParamRef) {
	t.Helper()
	api := a.client.AdmissionregistrationV1()
	if _, err := api.ValidatingAdmissionPolicies().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec,
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.ValidatingAdmissionPolicyBindings().Create(t.Context(),
		&admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: name, ParamRef: params, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			},
		}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// customParams limits the number of keys of config maps by cluster-scoped custom
// resources, chosen by a selector.
func customParams(t *testing.T, a *admitted) {
	a.namespace(t, "params")
	limits := a.dynamic.Resource(a.define(t, "limit", "Cluster", "Limit"))
	limit := pet("Limit", "small", map[string]any{"max": int64(0)})
	limit.SetLabels(map[string]string{"use": "yes"})
	if _, err := limits.Create(t.Context(), limit, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.validatingPolicy(t, "params", admissionv1.ValidatingAdmissionPolicySpec{
		ParamKind:        &admissionv1.ParamKind{APIVersion: "pets.example.com/v1", Kind: "Limit"},
		MatchConstraints: onAll("params", "", "configmaps"),
		Variables:        []admissionv1.Variable{{Name: "size", Expression: "has(object.data) ? object.data.size() : 0"}},
		Validations: []admissionv1.Validation{{
			Expression: "variables.size <= params.max", Reason: ptr.To(metav1.StatusReasonForbidden),
			MessageExpression: "'%d are more than the %d of %s'.format([variables.size, params.max, params.metadata.name])",
		}},
	}, &admissionv1.ParamRef{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"use": "yes"}},
		ParameterNotFoundAction: ptr.To(admissionv1.AllowAction)})
	a.active(t, "params", refused)
	_, err := a.create(t, "params", "a", metav1.CreateOptions{})
	const want = `configmaps "a" is forbidden: ValidatingAdmissionPolicy 'params' with binding 'params' denied request: 1 are more than the 0 of small`
	if !apierrors.IsForbidden(err) || err.Error() != want {
		t.Errorf("%v", err)
	}
	if err := limits.Delete(t.Context(), "small", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	a.active(t, "params", func(_ *corev1.ConfigMap, err error) bool { return err == nil })
}

// customMutations merges by the schema of a CRD.
func customMutations(t *testing.T, a *admitted) {
	a.namespace(t, "mutations")
	dogs := a.dynamic.Resource(a.define(t, "dog", "Namespaced", "Dog")).Namespace("mutations")
	api := a.client.AdmissionregistrationV1()
	apply := func(expression string) admissionv1.Mutation {
		return admissionv1.Mutation{PatchType: admissionv1.PatchTypeApplyConfiguration,
			ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: expression}}
	}
	if _, err := api.MutatingAdmissionPolicies().Create(t.Context(), &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "mutations"},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			MatchConstraints: onAll("mutations", "pets.example.com", "dogs"),
			Mutations: []admissionv1.Mutation{
				apply("Object{tags: [Object.tags{key: 'a', value: 'set'}]}"),
				apply("object.metadata.name == 'atomic' ? Object{list: ['x']} : Object{}"),
				{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{
					Expression: "[JSONPatch{op: 'add', path: '/name', value: string(object.tags.size())}]",
				}},
			},
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.MutatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "mutations"},
		Spec:       admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "mutations"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	tags := []any{map[string]any{"key": "a", "value": "was"}, map[string]any{"key": "b"}}
	harness.Eventually(t, func() error {
		got, err := dogs.Create(t.Context(), pet("Dog", "rex", map[string]any{"tags": tags}),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err
		}
		if fmt.Sprint(got.Object["tags"]) != "[map[key:a value:set] map[key:b]]" || got.Object["name"] != "2" {
			return fmt.Errorf("%v", got.Object)
		}
		return nil
	})
	_, err := dogs.Create(t.Context(), pet("Dog", "atomic", nil), metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "may not mutate atomic arrays, maps or structs: .list") {
		t.Errorf("%v", err)
	}
}

// boundedEvaluation has an expression that would run for hours.
func boundedEvaluation(t *testing.T, a *admitted) {
	a.namespace(t, "bounded")
	loop := "[1,2,3,4,5,6,7,8,9,10]"
	expression := "a > 0"
	for _, v := range "abcdefghijkl" {
		expression = fmt.Sprintf("%s.all(%c, %s)", loop, v, expression)
	}
	a.validatingPolicy(t, "bounded", admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: onAll("bounded", "", "configmaps"),
		Validations:      []admissionv1.Validation{{Expression: expression}},
	}, nil)
	a.active(t, "bounded", func(_ *corev1.ConfigMap, err error) bool {
		return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "cost limit exceeded")
	})
}
