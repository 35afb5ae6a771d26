package expression

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/admission"
)

// onlyReads is an authorizer that only allows the verb get.
type onlyReads struct{}

func (onlyReads) Authorize(_ context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	switch {
	case a.Name == "error":
		return authorizer.NoOpinion, "", errors.New("not today")
	case a.Verb == "get":
		return authorizer.Allow, "for " + a.User.Name, nil
	}
	return authorizer.NoOpinion, "", nil
}

func values(t testing.TB) *Values {
	t.Helper()
	a := &admission.Attributes{
		Operation: admission.Create, Namespace: "n", Name: "a",
		Kind:     schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Object:   &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}},
		Options:  &metav1.CreateOptions{FieldManager: "me"},
		User:     &user.Info{Name: "alice", Groups: []string{"g"}, Extra: map[string][]string{"e": {"x"}}},
	}
	v, err := NewValues(t.Context(), a, a.Resource.GroupVersion(), onlyReads{}, func() (*corev1.Namespace, error) {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"l": "m"}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEvaluate(t *testing.T) {
	for source, want := range map[string]string{ // "" is true, and others what the error holds
		"object.data.k == 'v' && object.kind == 'ConfigMap' && oldObject == null":                       "",
		"request.operation == 'CREATE' && request.resource.resource == 'configmaps'":                    "",
		"request.userInfo.username == 'alice' && request.userInfo.groups == ['g']":                      "",
		"request.userInfo.extra.e[0] == 'x' && !request.dryRun && request.options.fieldManager == 'me'": "",
		"namespaceObject.metadata.labels.l == 'm'":                                                      "",
		"params.data.max == 3":                                                                                    "",
		"variables.twice == 6 && variables.again == 12":                                                           "",
		"authorizer.requestResource.check('get').allowed()":                                                       "",
		"authorizer.requestResource.check('get').reason() == 'for alice'":                                         "",
		"!authorizer.group('').resource('pods').namespace('n').check('list').allowed()":                           "",
		"authorizer.path('/x').check('get').allowed()":                                                            "",
		"authorizer.group('').resource('pods').name('error').check('get').error() == 'not today'":                 "",
		"authorizer.serviceAccount('n', 's').path('/x').check('get').reason() == 'for system:serviceaccount:n:s'": "",
		"object.data.missing == ''":                                                                               "no such key: missing",
		"int(object.data.k) == 1":                                                                                 "type conversion error from 'string' to 'int'",
		"variables.fails":                                                                                         "no such key: missing",
		"authorizer.path('').check('x').allowed()":                                                                "path must not be empty",
	} {
		t.Run(source, func(t *testing.T) {
			c, err := NewCompiler()
			if err != nil {
				t.Fatal(err)
			}
			s := Scope{Params: true, Authorizer: true}
			c.Declare()
			list := []Variable{
				{"twice", c.Variable(s, "twice", "params.data.max * 2")},
				{"again", c.Variable(s, "again", "variables.twice + variables.twice")},
				{"fails", c.Variable(s, "fails", "object.data.missing == 'x'")},
			}
			x := c.Compile(s, source, types.BoolType)
			if err := x.Err(); err != nil {
				t.Fatal(err)
			}
			params := map[string]any{"data": map[string]any{"max": int64(3)}}
			out, err := NewEvaluation(values(t), params, PolicyBudget).WithVariables(t.Context(), list).Evaluate(t.Context(), x)
			switch {
			case want == "" && (err != nil || out != types.True):
				t.Errorf("%v, %v", out, err)
			case want != "" && (err == nil || !strings.HasPrefix(err.Error(), "expression '"+source+"' resulted in error: ") || !strings.Contains(err.Error(), want)):
				t.Errorf("%v, %v", out, err)
			}
		})
	}
}

func TestTypesOfVariables(t *testing.T) {
	for source, want := range map[string]string{
		"authorizer": "dyn", "request": "dyn", "optional.none()": "dyn", "type(1)": "dyn",
		"[[quantity('1')]]": "list(list(dyn))", "{ip('1.2.3.4'): namespaceObject}": "map(dyn, dyn)",
		"[duration('1s')]": "list(google.protobuf.Duration)", "null": "null_type", "{'a': 1}": "map(string, int)",
	} {
		c, err := NewCompiler()
		if err != nil {
			t.Fatal(err)
		}
		c.Declare()
		s := Scope{Authorizer: true}
		if err := c.Variable(s, "v", source).Err(); err != nil {
			t.Errorf("%s: %v", source, err)
		}
		if _, typ := c.compile(s, "variables.v", nil); typ.String() != want {
			t.Errorf("%s is %s, want %s", source, typ, want)
		}
	}
}

func TestCompile(t *testing.T) {
	for name, c := range map[string]struct {
		scope  Scope
		source string
		want   []*types.Type
		err    string
	}{
		"bool":                  {source: "true", want: []*types.Type{types.BoolType}},
		"anything":              {source: "1"},
		"int":                   {source: "1", want: []*types.Type{types.BoolType}, err: "must evaluate to bool but got int"},
		"dyn":                   {source: "object.a", want: []*types.Type{types.BoolType}, err: "must evaluate to bool but got dyn"},
		"one of two":            {source: "1", want: []*types.Type{types.StringType, types.NullType}, err: "must evaluate to one of [string null_type] but got int"},
		"no params":             {source: "params.a", err: "undeclared reference to 'params'"},
		"no authorizer":         {source: "authorizer.path('/').check('get').allowed()", err: "undeclared reference to 'authorizer'"},
		"no variables":          {source: "variables.a", err: "undeclared reference to 'variables'"},
		"no such field":         {source: "request.nope", err: "undefined field 'nope'"},
		"no patches":            {source: "Object{}", err: "undeclared reference to 'Object'"},
		"an object":             {scope: Scope{Mutation: true}, source: "Object{spec: Object.spec{a: 1}}", want: []*types.Type{ObjectType}},
		"patches":               {scope: Scope{Mutation: true}, source: "[JSONPatch{op: 'add', path: '/a', value: {'b': 1}}]", want: []*types.Type{Patches}},
		"no field of a patch":   {scope: Scope{Mutation: true}, source: "[JSONPatch{nope: 1}]", err: "expected type of field 'nope' is '' but provided type is 'int'"},
		"not an object":         {scope: Scope{Mutation: true}, source: "1", want: []*types.Type{ObjectType}, err: "must evaluate to Object but got int"},
		"not a list of patches": {scope: Scope{Mutation: true}, source: "[1]", want: []*types.Type{Patches}, err: "must evaluate to list(JSONPatch) but got list(int)"},
	} {
		t.Run(name, func(t *testing.T) {
			compiler, err := NewCompiler()
			if err != nil {
				t.Fatal(err)
			}
			got := compiler.Compile(c.scope, c.source, c.want...).Err()
			if (got != nil) != (c.err != "") || got != nil && !strings.Contains(got.Error(), c.err) {
				t.Errorf("got %v, want %q", got, c.err)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	for name, c := range map[string]struct {
		sources []string
		want    bool
		err     string
	}{
		"none":                 {want: true},
		"all hold":             {sources: []string{"true", "object.data.k == 'v'"}, want: true},
		"one does not":         {sources: []string{"true", "false"}},
		"one fails":            {sources: []string{"object.data.x == 'v'", "true"}, err: "no such key: x"},
		"false outdoes errors": {sources: []string{"object.data.x == 'v'", "false"}},
	} {
		t.Run(name, func(t *testing.T) {
			compiler, err := NewCompiler()
			if err != nil {
				t.Fatal(err)
			}
			var list []admissionv1.MatchCondition
			for _, s := range c.sources {
				list = append(list, admissionv1.MatchCondition{Expression: s})
			}
			got, err := compiler.Conditions(Scope{}, list).Match(t.Context(), NewEvaluation(values(t), nil, ConditionBudget))
			if got != c.want || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestBudget(t *testing.T) {
	c, err := NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	x := c.Compile(Scope{}, "[1,2,3].all(a, [1,2,3].all(b, a + b > 0))")
	e := NewEvaluation(values(t), nil, 50)
	if _, err := e.Evaluate(t.Context(), x); !errors.Is(err, ErrBudget) {
		t.Errorf("%v", err)
	}
	if _, err := e.Evaluate(t.Context(), c.Compile(Scope{}, "true")); !errors.Is(err, ErrBudget) {
		t.Errorf("after the budget is exceeded: %v", err)
	}
}

func TestPatchValues(t *testing.T) {
	for source, want := range map[string]string{
		"Object{spec: Object.spec{list: [Object.spec.list{a: 1}], m: {'k': 'v'}}}": "",
		"Object{spec: Object.other{}}":                                             `unexpected type name "Object.other", expected "Object.spec"`,
		"Object{spec: Object.spec{list: [Object.spec{}]}}":                         `unexpected type name "Object.spec", expected "Object.spec.list"`,
	} {
		t.Run(source, func(t *testing.T) {
			c, err := NewCompiler()
			if err != nil {
				t.Fatal(err)
			}
			out, err := NewEvaluation(values(t), nil, PolicyBudget).Evaluate(t.Context(), c.Compile(Scope{Mutation: true}, source, ObjectType))
			if want != "" {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v", err)
				}
				return
			}
			native, err := Native(out)
			if err != nil {
				t.Fatal(err)
			}
			spec := native.(map[string]any)["spec"].(map[string]any)
			if spec["m"].(map[string]any)["k"] != "v" || spec["list"].([]any)[0].(map[string]any)["a"] != int64(1) {
				t.Errorf("%v", native)
			}
		})
	}
}

func BenchmarkEvaluate(b *testing.B) {
	c, err := NewCompiler()
	if err != nil {
		b.Fatal(err)
	}
	x := c.Compile(Scope{}, "object.metadata.name.startsWith('a') && size(object.data) < 10", types.BoolType)
	v := values(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewEvaluation(v, nil, PolicyBudget).Evaluate(b.Context(), x); err != nil {
			b.Fatal(err)
		}
	}
}
