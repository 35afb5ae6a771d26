package policy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/admission"
)

// configMaps converts ConfigMaps, which have one version.
type configMaps struct{}

func (configMaps) Kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
}
func (configMaps) New() runtime.Object                                { return &corev1.ConfigMap{} }
func (configMaps) Default(runtime.Object)                             {}
func (configMaps) ToHub(obj runtime.Object) (runtime.Object, error)   { return obj, nil }
func (configMaps) FromHub(obj runtime.Object) (runtime.Object, error) { return obj, nil }

func creation(data map[string]string) *admission.Attributes {
	return &admission.Attributes{
		Operation: admission.Create, Namespace: "n", Name: "a", Codec: configMaps{},
		Kind: configMaps{}.Kind(), Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: data},
	}
}

// words are params by namespace and name: namespaced ones of the kind Word and cluster-scoped ones of the kind
// Rule.
type words map[string]map[string]any

func (words) Resource(k schema.GroupVersionKind) (schema.GroupVersionResource, bool, bool) {
	return k.GroupVersion().WithResource(strings.ToLower(k.Kind) + "s"), k.Kind == "Word", k.Kind == "Word" || k.Kind == "Rule"
}

func (w words) Get(_ context.Context, gvr schema.GroupVersionResource, namespace, name string) (map[string]any, error) {
	if obj, ok := w[namespace+"/"+name]; ok {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(gvr.GroupResource(), name)
}

func (w words) List(_ context.Context, _ schema.GroupVersionResource, namespace, _ string) ([]map[string]any, error) {
	var out []map[string]any
	for key, obj := range w {
		if strings.HasPrefix(key, namespace+"/") {
			out = append(out, obj)
		}
	}
	return out, nil
}

var everything = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
	Operations: []admissionv1.OperationType{"*"},
	Rule:       admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
}}}}

func config(params words) Config {
	return Config{Params: params, Namespaces: func(context.Context, string) (*corev1.Namespace, error) {
		return nil, errors.New("no namespaces")
	}}
}

func validates(expression string, change func(*admissionv1.ValidatingAdmissionPolicySpec)) *admissionv1.ValidatingAdmissionPolicy {
	p := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: everything, Validations: []admissionv1.Validation{{Expression: expression}},
	}}
	if change != nil {
		change(&p.Spec)
	}
	return p
}

func binds(params *admissionv1.ParamRef, actions ...admissionv1.ValidationAction) []*admissionv1.ValidatingAdmissionPolicyBinding {
	return []*admissionv1.ValidatingAdmissionPolicyBinding{{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: "p", ParamRef: params, ValidationActions: actions,
	}}}
}

type policySpec = admissionv1.ValidatingAdmissionPolicySpec

func TestDecisions(t *testing.T) {
	const denied = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
	for name, c := range map[string]struct {
		expression string
		policy     func(*policySpec)
		want       string // "" lets it through
		code       int32
	}{
		"holds":   {expression: "object.data.k == 'v'"},
		"doesn't": {expression: " object.data.k == 'w' ", want: denied + "failed expression: object.data.k == 'w'", code: 422},
		"a message": {expression: "false", want: denied + "no", code: 422,
			policy: func(s *policySpec) { s.Validations[0].Message = " no " }},
		"a made message": {expression: "false", want: denied + "v is wrong", code: 422,
			policy: func(s *policySpec) { s.Validations[0].MessageExpression = "object.data.k + ' is wrong'" }},
		"a message of two lines": {expression: "false", want: denied + "no", code: 422,
			policy: func(s *policySpec) {
				s.Validations[0].Message, s.Validations[0].MessageExpression = "no", "'a\\nb'"
			}},
		"a reason": {expression: "false", want: denied, code: http.StatusForbidden,
			policy: func(s *policySpec) { s.Validations[0].Reason = ptr.To(metav1.StatusReasonForbidden) }},
		"too large": {expression: "false", want: denied, code: http.StatusRequestEntityTooLarge,
			policy: func(s *policySpec) { s.Validations[0].Reason = ptr.To(metav1.StatusReasonRequestEntityTooLarge) }},
		"an error": {expression: "object.data.x == ''", want: denied + "expression 'object.data.x == ''' resulted in error: no such key: x", code: 422},
		"an error that is ignored": {expression: "object.data.x == ''",
			policy: func(s *policySpec) { s.FailurePolicy = ptr.To(admissionv1.Ignore) }},
		"a false condition": {expression: "false",
			policy: func(s *policySpec) { s.MatchConditions = []admissionv1.MatchCondition{{Expression: "false"}} }},
		"a variable": {expression: "variables.v == 'vv'",
			policy: func(s *policySpec) {
				s.Variables = []admissionv1.Variable{{Name: "v", Expression: "object.data.k + object.data.k"}}
			}},
		"a variable that fails": {expression: "variables.v == 'vv'", code: 422,
			want: denied + `expression 'variables.v == 'vv'' resulted in error: composited variable "v" fails to evaluate: no such key: x`,
			policy: func(s *policySpec) {
				s.Variables = []admissionv1.Variable{{Name: "v", Expression: "object.data.x"}}
			}},
		"an audit annotation that fails": {expression: "true", want: denied + "expression 'string(object.data.x)' resulted in error: no such key: x", code: 422,
			policy: func(s *policySpec) {
				s.AuditAnnotations = []admissionv1.AuditAnnotation{{Key: "k", ValueExpression: "string(object.data.x)"}}
			}},
		"an unknown kind of params": {expression: "true", code: 422,
			want:   "ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'x/v1, Kind=Thing'",
			policy: func(s *policySpec) { s.ParamKind = &admissionv1.ParamKind{APIVersion: "x/v1", Kind: "Thing"} }},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewValidating(config(words{}))
			p.Set([]*admissionv1.ValidatingAdmissionPolicy{validates(c.expression, c.policy)}, binds(nil, admissionv1.Deny))
			err := p.Validate(t.Context(), creation(map[string]string{"k": "v"}))
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var status *apierrors.StatusError
			if !errors.As(err, &status) || !strings.HasPrefix(status.ErrStatus.Message, `configmaps "a" is forbidden: `+c.want) || status.ErrStatus.Code != c.code {
				t.Errorf("%+v", err)
			}
		})
	}
}

func TestParams(t *testing.T) {
	byName := func(namespace, name string) *admissionv1.ParamRef {
		return &admissionv1.ParamRef{Namespace: namespace, Name: name, ParameterNotFoundAction: ptr.To(admissionv1.DenyAction)}
	}
	all := words{
		"n/one": {"word": "v"}, "n/two": {"word": "w"}, "/rule": {"word": "v"},
	}
	for name, c := range map[string]struct {
		kind string
		ref  *admissionv1.ParamRef
		op   func(*admission.Attributes)
		want string
	}{
		"by name, in the request's namespace": {kind: "Word", ref: byName("", "one"), want: "v is taken"},
		"another one":                         {kind: "Word", ref: byName("", "two")},
		"in a namespace of its own":           {kind: "Word", ref: byName("n", "one"), op: func(a *admission.Attributes) { a.Namespace = "m" }, want: "v is taken"},
		"not there":                           {kind: "Word", ref: byName("", "three"), want: "no params found for policy binding with `Deny` parameterNotFoundAction"},
		"not there, which is allowed":         {kind: "Word", ref: &admissionv1.ParamRef{Name: "three", ParameterNotFoundAction: ptr.To(admissionv1.AllowAction)}},
		"by selector":                         {kind: "Word", ref: &admissionv1.ParamRef{Selector: &metav1.LabelSelector{}}, want: "v is taken"},
		"of the cluster":                      {kind: "Rule", ref: byName("", "rule"), want: "v is taken"},
		"of the cluster, in a namespace":      {kind: "Rule", ref: byName("n", "rule"), want: "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"},
		"nowhere":                             {kind: "Word", ref: byName("", "one"), op: func(a *admission.Attributes) { a.Namespace = "" }, want: "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"},
		"none":                                {kind: "Word", want: "no such key: word"},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewValidating(config(all))
			p.Set([]*admissionv1.ValidatingAdmissionPolicy{validates("object.data.k != params.word", func(s *policySpec) {
				s.ParamKind = &admissionv1.ParamKind{APIVersion: "x/v1", Kind: c.kind}
				s.Validations[0].MessageExpression = "string(params.word) + ' is taken'"
			})}, binds(c.ref, admissionv1.Deny))
			a := creation(map[string]string{"k": "v"})
			if c.op != nil {
				c.op(a)
			}
			err := p.Validate(t.Context(), a)
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestActions(t *testing.T) {
	const warning = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': failed expression: false"
	for name, c := range map[string]struct {
		actions       []admissionv1.ValidationAction
		denies, warns bool
	}{
		"deny":          {[]admissionv1.ValidationAction{admissionv1.Deny}, true, false},
		"warn":          {[]admissionv1.ValidationAction{admissionv1.Warn}, false, true},
		"audit":         {[]admissionv1.ValidationAction{admissionv1.Audit}, false, false},
		"warn and deny": {[]admissionv1.ValidationAction{admissionv1.Warn, admissionv1.Deny}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewValidating(config(nil))
			p.Set([]*admissionv1.ValidatingAdmissionPolicy{validates("false", nil)}, binds(nil, c.actions...))
			w := &request.Warnings{}
			err := p.Validate(request.WithWarnings(t.Context(), w), creation(nil))
			if (err != nil) != c.denies || slices.Contains(w.Texts(), warning) != c.warns {
				t.Errorf("%v, %v", err, w.Texts())
			}
		})
	}
}

func TestOnlyWhatIsBoundIsHandled(t *testing.T) {
	p := NewValidating(config(nil))
	p.Set([]*admissionv1.ValidatingAdmissionPolicy{validates("false", nil)}, nil)
	if p.Handles(admission.Create) {
		t.Error("a policy without a binding is handled")
	}
	policy := validates("false", nil)
	p.Set([]*admissionv1.ValidatingAdmissionPolicy{policy}, binds(nil, admissionv1.Deny))
	compiled := p.served.policies[policy]
	p.Set([]*admissionv1.ValidatingAdmissionPolicy{policy, validates("true", nil)}, binds(nil, admissionv1.Deny))
	if p.served.policies[policy] != compiled {
		t.Error("what has not changed was compiled again")
	}
	for _, exempt := range []schema.GroupVersionResource{
		{Group: admissionv1.GroupName, Version: "v1", Resource: "validatingadmissionpolicies"},
		{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"},
	} {
		a := creation(nil)
		a.Resource = exempt
		if err := p.Validate(t.Context(), a); err != nil {
			t.Errorf("%s: %v", exempt.Resource, err)
		}
	}
	p.Set(nil, nil)
	if p.Handles(admission.Create) {
		t.Error("nothing is handled")
	}
}

func mutates(name string, reinvocation admissionv1.ReinvocationPolicyType, failure admissionv1.FailurePolicyType, mutations ...admissionv1.Mutation) *admissionv1.MutatingAdmissionPolicy {
	return &admissionv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.MutatingAdmissionPolicySpec{
		MatchConstraints: everything, Mutations: mutations, ReinvocationPolicy: reinvocation, FailurePolicy: &failure,
	}}
}

func bindsAll(policies []*admissionv1.MutatingAdmissionPolicy) []*admissionv1.MutatingAdmissionPolicyBinding {
	var out []*admissionv1.MutatingAdmissionPolicyBinding
	for _, p := range policies {
		out = append(out, &admissionv1.MutatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: p.Name},
		})
	}
	return out
}

func patch(expression string) admissionv1.Mutation {
	return admissionv1.Mutation{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{Expression: expression}}
}

func apply(expression string) admissionv1.Mutation {
	return admissionv1.Mutation{PatchType: admissionv1.PatchTypeApplyConfiguration, ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: expression}}
}

func TestMutations(t *testing.T) {
	const never, again = admissionv1.NeverReinvocationPolicy, admissionv1.IfNeededReinvocationPolicy
	set := patch("[JSONPatch{op: 'add', path: '/data/a', value: 'x'}]")
	boom := patch("[JSONPatch{op: 'add', path: '/data/b', value: object.data.missing}]")
	sees := patch("'late' in object.data ? [JSONPatch{op: 'add', path: '/data/saw', value: 'it'}] : []")
	late := patch("[JSONPatch{op: 'add', path: '/data/late', value: 'x'}]")
	for name, c := range map[string]struct {
		policies []*admissionv1.MutatingAdmissionPolicy
		want     string
		code     int32
	}{
		"a patch":              {[]*admissionv1.MutatingAdmissionPolicy{mutates("p", never, "Fail", set)}, "map[a:x k:v]", 0},
		"an apply":             {[]*admissionv1.MutatingAdmissionPolicy{mutates("p", never, "Fail", apply("Object{data: {'b': object.data.k}}"))}, "map[b:v k:v]", 0},
		"an empty apply":       {[]*admissionv1.MutatingAdmissionPolicy{mutates("p", never, "Fail", apply("Object{}"))}, "map[k:v]", 0},
		"one sees the other":   {[]*admissionv1.MutatingAdmissionPolicy{mutates("p", never, "Fail", set, apply("Object{data: {'b': object.data.a}}"))}, "map[a:x b:x k:v]", 0},
		"a test fails":         {[]*admissionv1.MutatingAdmissionPolicy{mutates("p", never, "Fail", patch("[JSONPatch{op: 'test', path: '/data/k', value: 'w'}, JSONPatch{op: 'remove', path: '/data/k'}]"))}, "map[k:v]", 0},
		"a failure":            {[]*admissionv1.MutatingAdmissionPolicy{mutates("p", never, "Fail", boom)}, "", http.StatusForbidden},
		"a failure is ignored": {[]*admissionv1.MutatingAdmissionPolicy{mutates("p", never, "Ignore", set, boom)}, "map[a:x k:v]", 0},
		"what it cannot be":    {[]*admissionv1.MutatingAdmissionPolicy{mutates("p", never, "Ignore", patch("[JSONPatch{op: 'add', path: '/data', value: 1}]"))}, "", http.StatusInternalServerError},
		"another kind": {[]*admissionv1.MutatingAdmissionPolicy{mutates("p", never, "Ignore",
			patch("[JSONPatch{op: 'replace', path: '/kind', value: 'Secret'}]"))}, "", http.StatusInternalServerError},
		"a field it has not": {[]*admissionv1.MutatingAdmissionPolicy{mutates("p", never, "Ignore", patch("[JSONPatch{op: 'add', path: '/nope', value: 1}]"))}, "", http.StatusInternalServerError},
		"a field below":      {[]*admissionv1.MutatingAdmissionPolicy{mutates("p", never, "Ignore", patch("[JSONPatch{op: 'add', path: '/metadata', value: {'nope': 'x'}}]"))}, "", http.StatusInternalServerError},
		"no second round":    {[]*admissionv1.MutatingAdmissionPolicy{mutates("p", never, "Fail", sees), mutates("q", never, "Fail", late)}, "map[k:v late:x]", 0},
		"a second round":     {[]*admissionv1.MutatingAdmissionPolicy{mutates("p", again, "Fail", sees), mutates("q", never, "Fail", late)}, "map[k:v late:x saw:it]", 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewMutating(config(nil))
			p.Set(c.policies, bindsAll(c.policies))
			a := creation(map[string]string{"k": "v"})
			err := admission.NewChain(nil, admission.Named{Plugin: p}).Admit(t.Context(), a)
			var status *apierrors.StatusError
			if errors.As(err, &status) != (c.code != 0) || status != nil && status.ErrStatus.Code != c.code {
				t.Fatalf("%v", err)
			}
			if got := fmt.Sprint(a.Object.(*corev1.ConfigMap).Data); err == nil && got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// A policy that cannot be evaluated for want of its parameters is Forbidden, one that fails is Invalid.
func TestMutatingPolicyWithoutParams(t *testing.T) {
	p := NewMutating(config(words{}))
	policy := mutates("p", admissionv1.NeverReinvocationPolicy, "Fail", patch("[]"))
	policy.Spec.ParamKind = &admissionv1.ParamKind{APIVersion: "x/v1", Kind: "Thing"}
	all := []*admissionv1.MutatingAdmissionPolicy{policy}
	p.Set(all, bindsAll(all))
	err := admission.NewChain(nil, admission.Named{Plugin: p}).Admit(t.Context(), creation(map[string]string{"k": "v"}))
	const want = `policy "p" denied request: failed to configure policy: failed to find resource referenced by paramKind: 'x/v1, Kind=Thing'`
	if err == nil || err.Error() != want || apierrors.ReasonForError(err) != metav1.StatusReasonForbidden {
		t.Errorf("%v", err)
	}
}

// later is a plugin that changes the object after the policies.
type later struct{}

func (later) Handles(admission.Operation) bool { return true }

func (later) Admit(_ context.Context, a *admission.Attributes) error {
	if !a.Reinvocation() {
		a.Object.(*corev1.ConfigMap).Data["late"] = "x"
		a.Reinvoke()
	}
	return nil
}

// TestOthersChangeTheObject tests the reinvocation of a policy because of a later plugin.
func TestOthersChangeTheObject(t *testing.T) {
	sees := patch("'late' in object.data ? [JSONPatch{op: 'add', path: '/data/saw', value: 'it'}] : []")
	for again, want := range map[admissionv1.ReinvocationPolicyType]string{
		admissionv1.NeverReinvocationPolicy:    "map[k:v late:x]",
		admissionv1.IfNeededReinvocationPolicy: "map[k:v late:x saw:it]",
	} {
		p := NewMutating(config(nil))
		all := []*admissionv1.MutatingAdmissionPolicy{mutates("p", again, "Fail", sees)}
		p.Set(all, bindsAll(all))
		a := creation(map[string]string{"k": "v"})
		if err := admission.NewChain(nil, admission.Named{Plugin: p}, admission.Named{Plugin: later{}}).Admit(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(a.Object.(*corev1.ConfigMap).Data); got != want {
			t.Errorf("%s: %s, want %s", again, got, want)
		}
	}
}

// TestBudget evaluates a dozen expressions, each of which costs nine tenths of its limit. Together they exceed
// the budget of a policy, except for mutations, which have separate budgets.
func TestBudget(t *testing.T) {
	const dear, dozen = "!object.data.k.matches(object.data.r)", 12
	expensive := func() *admission.Attributes {
		return creation(map[string]string{"k": strings.Repeat("a", 90000), "r": strings.Repeat("b", 400)})
	}
	const over = "validation failed due to running out of cost budget, no further validation rules will be run"
	for name, c := range map[string]struct {
		policy func(*policySpec)
		want   string // "" lets it through
	}{
		"validations": {func(s *policySpec) {
			s.Validations = slices.Repeat([]admissionv1.Validation{{Expression: dear}}, dozen)
		}, over},
		"messages": {func(s *policySpec) {
			s.Validations = slices.Repeat([]admissionv1.Validation{{Expression: "false", MessageExpression: dear + " ? 'a' : 'b'"}}, dozen)
		}, "failed messageExpression: " + over},
		"audit annotations": {func(s *policySpec) {
			for i := range dozen {
				s.AuditAnnotations = append(s.AuditAnnotations, admissionv1.AuditAnnotation{Key: fmt.Sprint("k", i), ValueExpression: dear + " ? 'a' : 'b'"})
			}
		}, over},
		"conditions": {func(s *policySpec) {
			s.MatchConditions = slices.Repeat([]admissionv1.MatchCondition{{Expression: dear}}, 3)
		}, over},
		"not too many": {func(s *policySpec) {
			s.MatchConditions = slices.Repeat([]admissionv1.MatchCondition{{Expression: dear}}, 2)
			s.Validations = slices.Repeat([]admissionv1.Validation{{Expression: dear}}, dozen-1)
		}, ""},
	} {
		p := NewValidating(config(words{}))
		p.Set([]*admissionv1.ValidatingAdmissionPolicy{validates("true", c.policy)}, binds(nil, admissionv1.Deny))
		err := p.Validate(t.Context(), expensive())
		if (err == nil) != (c.want == "") || err != nil && !strings.HasSuffix(err.Error(), "denied request: "+c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	mutations := slices.Repeat([]admissionv1.Mutation{patch(dear + " ? [JSONPatch{op: 'remove', path: '/data/r'}, JSONPatch{op: 'add', path: '/data/r', value: object.data.r}] : []")}, dozen)
	p := NewMutating(config(nil))
	all := []*admissionv1.MutatingAdmissionPolicy{mutates("p", admissionv1.NeverReinvocationPolicy, "Fail", mutations...)}
	p.Set(all, bindsAll(all))
	if err := admission.NewChain(nil, admission.Named{Plugin: p}).Admit(t.Context(), expensive()); err != nil {
		t.Errorf("mutations: %v", err)
	}
}

// A denial names all mutations of all policies that failed.
func TestFailedMutations(t *testing.T) {
	boom := patch("[JSONPatch{op: 'add', path: '/data/b', value: object.data.missing}]")
	p := NewMutating(config(nil))
	never := admissionv1.NeverReinvocationPolicy
	all := []*admissionv1.MutatingAdmissionPolicy{
		mutates("p", never, "Fail", boom, boom), mutates("q", never, "Ignore", boom), mutates("r", never, "Fail", boom),
	}
	p.Set(all, bindsAll(all))
	err := admission.NewChain(nil, admission.Named{Plugin: p}).Admit(t.Context(), creation(map[string]string{"k": "v"}))
	var status *apierrors.StatusError
	if !errors.As(err, &status) || len(status.ErrStatus.Details.Causes) != 3 ||
		!strings.Contains(status.ErrStatus.Message, "policy 'p'") {
		t.Errorf("%+v", err)
	}
}

func BenchmarkNoPolicyMatches(b *testing.B) {
	p := NewValidating(config(nil))
	p.Set([]*admissionv1.ValidatingAdmissionPolicy{validates("false", func(s *policySpec) {
		s.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{"CREATE"},
			Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
		}}}}
	})}, binds(nil, admissionv1.Deny))
	a := creation(nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Validate(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOnePolicyMatches(b *testing.B) {
	p := NewValidating(config(nil))
	p.Set([]*admissionv1.ValidatingAdmissionPolicy{validates("object.metadata.name.size() < 10", nil)}, binds(nil, admissionv1.Deny))
	a := creation(map[string]string{"k": "v"})
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Validate(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}
