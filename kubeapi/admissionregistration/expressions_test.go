package admissionregistration

import (
	"context"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// said are errors as texts.
func said(errs field.ErrorList) string {
	var out []string
	for _, e := range errs {
		out = append(out, strings.ReplaceAll(e.Error(), "\n", "|"))
	}
	return strings.Join(out, "; ")
}

func TestExpressions(t *testing.T) {
	for name, c := range map[string]struct {
		errs field.ErrorList
		want []string // parts, in order; none means no error
	}{
		"conditions": {validateConditions([]admissionv1.MatchCondition{{Name: "a", Expression: "1"}, {Name: "b", Expression: "true"}, {Name: "a", Expression: "x"}}, ofWebhook(t.Context()), field.NewPath("c")),
			[]string{`c[0].expression: Invalid value: "1": must evaluate to bool but got int`, "c[2].expression", "undeclared reference to 'x'", "c[2].name: Duplicate"}},
		"params": {validateConditions([]admissionv1.MatchCondition{{Name: "a", Expression: "params.x == 1"}}, ofPolicy(t.Context(), &admissionv1.ParamKind{}), field.NewPath("c")), nil},
		"variables": {validateVariables([]admissionv1.Variable{{Name: "a", Expression: "variables.b"}, {Name: "b", Expression: "1"}, {Name: "c", Expression: "variables.b + 1"}, {Name: "in", Expression: "x"}}, ofPolicy(t.Context(), nil), field.NewPath("v")),
			[]string{"v[0].expression", "undefined field 'b'", "v[3].name: Invalid value: \"in\": must be a valid CEL identifier"}},
		"a variable without expression": {validateVariables([]admissionv1.Variable{{Name: "a"}, {Name: "b", Expression: "variables.a"}}, ofPolicy(t.Context(), nil), field.NewPath("v")),
			[]string{"v[0].expression: Required", "v[1].expression", "undefined field 'a'"}},
		"messages": {validateValidation(&admissionv1.Validation{Expression: "true", MessageExpression: "authorizer.path('/').check('get').reason()"}, ofPolicy(t.Context(), nil), field.NewPath("v")),
			[]string{"v.messageExpression", "undeclared reference to 'authorizer'"}},
		"audit": {validateAudit("p", []admissionv1.AuditAnnotation{{Key: "a", ValueExpression: "null"}, {Key: "b", ValueExpression: "1"}}, ofPolicy(t.Context(), nil), field.NewPath("a")),
			[]string{"a[1].valueExpression", "must evaluate to one of [string null_type] but got int"}},
		"many of audit": {validateAudit("p", slices.Repeat([]admissionv1.AuditAnnotation{{Key: "a", ValueExpression: "null"}}, 21), ofPolicy(t.Context(), nil), field.NewPath("a")),
			[]string{"must not have more than 20 auditAnnotations", `a[20].key: Duplicate value: "a"`}},
		"a kind without version": {validateParamKind(&admissionv1.ParamKind{APIVersion: "A/", Kind: "K"}, field.NewPath("k")),
			[]string{`Invalid value: "A": a lowercase RFC 1123 subdomain`, `k.apiVersion: Invalid value: "A/": version must be specified`}},
		"resources after their wildcard": {validateResources([]string{"*", "pods/status", "pods"}, field.NewPath("r")), []string{"if '*' is present, must not specify other resources without subresources"}},
		"resources before it":            {validateResources([]string{"pods", "*", "*", "pods/status"}, field.NewPath("r")), nil},
		"an object": {validateMutation(&admissionv1.Mutation{PatchType: "ApplyConfiguration", ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: "1"}}, mutating(), field.NewPath("m")),
			[]string{`m.applyConfiguration.expression: Invalid value: "1": must evaluate to Object but got int`}},
		"patches": {validateMutation(&admissionv1.Mutation{PatchType: "JSONPatch", JSONPatch: &admissionv1.JSONPatch{Expression: "[JSONPatch{op: 'add', path: jsonpatch.escapeKey('a/b')}]"}}, mutating(), field.NewPath("m")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			rest := said(c.errs)
			if len(c.want) == 0 && rest != "" {
				t.Error(rest)
			}
			for _, w := range c.want {
				_, after, ok := strings.Cut(rest, w)
				if !ok {
					t.Fatalf("no %q in %s", w, rest)
				}
				rest = after
			}
		})
	}
}

func mutating() *expressions {
	x := ofPolicy(context.Background(), nil)
	x.scope.Mutation = true
	return x
}
