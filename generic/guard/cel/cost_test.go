package cel_test

import (
	"strings"
	"testing"

	"github.com/google/cel-go/cel"

	shared "triplane.dev/generic/guard/cel"
	"triplane.dev/generic/guard/cel/library"
)

// TestActualCosts compares costs with those that were observed at kube-apiserver 1.36. The type of the variable
// o is dyn.
func TestActualCosts(t *testing.T) {
	base, err := shared.Base()
	if err != nil {
		t.Fatal(err)
	}
	env, err := base.Extend(library.Authorizer(), cel.Variable("o", cel.DynType), cel.Variable("a", library.AuthorizerType))
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]any{
		"o": map[string]any{
			"short": "abcdefgh", "long": strings.Repeat("x", 1000), "wide": strings.Repeat("€", 100),
			"numbers": []any{int64(1), int64(2), int64(3)}, "texts": []any{"a", strings.Repeat("b", 25), strings.Repeat("c", 19)},
			"lists": []any{[]any{int64(1), int64(2)}, []any{strings.Repeat("b", 25)}}, "map": map[string]any{"a": int64(1), "b": true},
			"ip": "192.168.10.20", "cidr": "10.0.0.0/8",
		},
		"a": library.NewAuthorizer(t.Context(), nil, nil),
	}
	for expression, want := range map[string]uint64{
		"o.long": 2, "has(o.long)": 1, "o.?long.hasValue()": 3,
		"o.short.indexOf('x')": 2, "o.long.indexOf('x')": 102, "o.wide.lastIndexOf('x')": 32, "string(o.short).indexOf('x')": 3,
		"o.numbers.sum()": 5, "o.numbers.indexOf(2)": 5, "o.texts.max()": 5, "o.texts.isSorted()": 5, "o.texts.indexOf('a')": 5,
		"o.lists.indexOf([1])": 6, "[o.map].lastIndexOf({})": 14, "[quantity('1')].indexOf(quantity('2'))": 13,
		"o.texts.join()": 11, "o.texts.join('--')": 12, "[o.wide].join()": 32,
		"cidr(o.cidr).containsIP(ip(o.ip))": 8, "cidr(o.cidr).containsIP(string(o.ip))": 9, "cidr(o.cidr).containsIP(o.ip)": 6,
		"cidr(o.cidr).containsCIDR(cidr('10.1.0.0/16'))": 8, "cidr(o.cidr).containsCIDR('10.1.0.0/16')": 8, "cidr(o.cidr).containsCIDR(o.cidr)": 8,
		"format.dns1123Label().validate('')": 9, "format.dns1123Label().validate(o.short)": 11, "format.labelValue().validate(o.long)": 1013,
		"format.qualifiedName().validate(o.wide)": 168, "format.uri().validate(o.short)": 279, "format.uuid().validate(o.short)": 21,
		"format.byte().validate(o.short)": 24, "format.named('date').value().validate(o.short)": 22,
		"a.group('').resource('pods').fieldSelector('')": 13, "a.group('').resource('pods').fieldSelector('a=b')": 114,
		"a.group('').resource('pods').labelSelector(o.wide)": 2525,
	} {
		ast, issues := env.Compile(expression)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		program, err := shared.NewProgram(env, ast)
		if err != nil {
			t.Fatal(err)
		}
		_, got, err := program.Eval(t.Context(), vars)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if got != want {
			t.Errorf("%s costs %d, want %d", expression, got, want)
		}
	}
}
