package match

import (
	"context"
	"errors"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/guard/admission"
)

// served are the served versions of all resources.
type served []schema.GroupVersion

func (s served) Served() []schema.GroupVersion { return s }
func (s served) Converter(schema.GroupVersion) (admission.Converter, error) {
	return nil, errors.New("nothing is converted here")
}

// operation returns an operation on the ConfigMap n/a with the label k=v.
func operation(op admission.Operation, change func(*admission.Attributes)) *admission.Attributes {
	a := &admission.Attributes{
		Operation: op, Namespace: "n", Name: "a",
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Object:   &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"k": "v"}}},
	}
	if change != nil {
		change(a)
	}
	return a
}

func rules(op admissionv1.OperationType, group, version, resource string, scope admissionv1.ScopeType) []admissionv1.RuleWithOperations {
	return []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{op}, Rule: admissionv1.Rule{
		APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{resource}, Scope: &scope,
	}}}
}

func TestRules(t *testing.T) {
	status := func(a *admission.Attributes) { a.Subresource = "status" }
	cluster := func(a *admission.Attributes) { a.Namespace = "" }
	namespace := func(a *admission.Attributes) {
		a.Resource.Resource, a.Object = "namespaces", &corev1.Namespace{}
	}
	multi := func(a *admission.Attributes) {
		a.Resource.Version, a.Versions = "v2", served{{Version: "v1"}, {Version: "v2"}}
	}
	for name, c := range map[string]struct {
		rules  []admissionv1.RuleWithOperations
		change func(*admission.Attributes)
		exact  bool
		want   bool
	}{
		"all":                           {rules: rules("*", "*", "*", "*", "*"), want: true},
		"named":                         {rules: rules("CREATE", "", "v1", "configmaps", "*"), want: true},
		"another operation":             {rules: rules("DELETE", "", "v1", "configmaps", "*")},
		"another group":                 {rules: rules("*", "apps", "v1", "configmaps", "*")},
		"another version":               {rules: rules("*", "", "v2", "configmaps", "*")},
		"another resource":              {rules: rules("*", "", "v1", "secrets", "*")},
		"a star is no subresource":      {rules: rules("*", "", "v1", "*", "*"), change: status},
		"any resource's subresource":    {rules: rules("*", "", "v1", "*/status", "*"), change: status, want: true},
		"any subresource":               {rules: rules("*", "", "v1", "configmaps/*", "*"), change: status, want: true},
		"the resource itself, as well":  {rules: rules("*", "", "v1", "*/*", "*"), want: true},
		"namespaced":                    {rules: rules("*", "*", "*", "*", "Namespaced"), want: true},
		"not namespaced":                {rules: rules("*", "*", "*", "*", "Namespaced"), change: cluster},
		"cluster":                       {rules: rules("*", "*", "*", "*", "Cluster"), change: cluster, want: true},
		"not cluster":                   {rules: rules("*", "*", "*", "*", "Cluster")},
		"namespaces are of the cluster": {rules: rules("*", "*", "*", "*", "Cluster"), change: namespace, want: true},
		"an equivalent version":         {rules: rules("*", "", "v1", "configmaps", "*"), change: multi, want: true},
		"not if exact":                  {rules: rules("*", "", "v1", "configmaps", "*"), change: multi, exact: true},
		"a version nobody serves":       {rules: rules("*", "", "v3", "configmaps", "*"), change: multi},
		"none":                          {},
	} {
		t.Run(name, func(t *testing.T) {
			policy := admissionv1.Equivalent
			if c.exact {
				policy = admissionv1.Exact
			}
			criteria, err := ForWebhook(c.rules, &policy, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			gv, got, err := criteria.Match(t.Context(), operation(admission.Create, c.change), nil)
			if err != nil || got != c.want {
				t.Errorf("%v, %v", got, err)
			}
			if got && len(c.rules) > 0 && c.rules[0].APIVersions[0] == "v1" && gv.Version != "v1" {
				t.Errorf("shown in %s", gv)
			}
		})
	}
}

func TestSelectors(t *testing.T) {
	is := func(k, v string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{k: v}}
	}
	namespaces := func(_ context.Context, name string) (*corev1.Namespace, error) {
		if name != "n" {
			return nil, errors.New("no such namespace")
		}
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": "a"}}}, nil
	}
	for name, c := range map[string]struct {
		namespace, object *metav1.LabelSelector
		change            func(*admission.Attributes)
		want, fails       bool
	}{
		"everything":             {want: true},
		"the namespace":          {namespace: is("team", "a"), want: true},
		"another namespace":      {namespace: is("team", "b")},
		"no namespace":           {namespace: is("team", "b"), change: func(a *admission.Attributes) { a.Namespace = "" }, want: true},
		"an unknown namespace":   {namespace: is("team", "b"), change: func(a *admission.Attributes) { a.Namespace = "x" }, fails: true},
		"the object":             {object: is("k", "v"), want: true},
		"another object":         {object: is("k", "w")},
		"what the object was":    {object: is("k", "v"), change: func(a *admission.Attributes) { a.OldObject, a.Object = a.Object, nil }, want: true},
		"a namespace's own name": {namespace: is("k", "v"), change: func(a *admission.Attributes) { a.Resource.Resource = "namespaces" }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			criteria, err := ForWebhook(rules("*", "*", "*", "*", "*"), nil, c.namespace, c.object)
			if err != nil {
				t.Fatal(err)
			}
			_, got, err := criteria.Match(t.Context(), operation(admission.Create, c.change), namespaces)
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestPolicyCriteria(t *testing.T) {
	named := func(names ...string) []admissionv1.NamedRuleWithOperations {
		return []admissionv1.NamedRuleWithOperations{{ResourceNames: names, RuleWithOperations: rules("*", "*", "*", "*", "*")[0]}}
	}
	for name, c := range map[string]struct {
		match *admissionv1.MatchResources
		want  bool
	}{
		"nothing said":          {nil, true},
		"no rules":              {&admissionv1.MatchResources{}, true},
		"any name":              {&admissionv1.MatchResources{ResourceRules: named()}, true},
		"the name":              {&admissionv1.MatchResources{ResourceRules: named("b", "a")}, true},
		"another name":          {&admissionv1.MatchResources{ResourceRules: named("b")}, false},
		"excluded":              {&admissionv1.MatchResources{ResourceRules: named(), ExcludeResourceRules: named("a")}, false},
		"another one excluded":  {&admissionv1.MatchResources{ResourceRules: named(), ExcludeResourceRules: named("b")}, true},
		"excluded without rule": {&admissionv1.MatchResources{ExcludeResourceRules: named("a"), MatchPolicy: ptr.To(admissionv1.Exact)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			criteria, err := New(c.match)
			if err != nil {
				t.Fatal(err)
			}
			if _, got, err := criteria.Match(t.Context(), operation(admission.Update, nil), nil); err != nil || got != c.want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	if _, err := New(&admissionv1.MatchResources{ObjectSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Operator: "Near"}}}}); err == nil {
		t.Error("a wrong selector was taken")
	}
}

func BenchmarkNoMatch(b *testing.B) {
	criteria, err := ForWebhook(rules("CREATE", "apps", "v1", "deployments", "*"), nil, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	a := operation(admission.Create, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, _ := criteria.Match(b.Context(), a, nil); ok {
			b.Fatal("it matches")
		}
	}
}
