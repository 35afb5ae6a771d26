package cel

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"triplane.dev/apiextensions/schema"
)

// TestBudget has the rules of an object cost as much as one may, more than all may together, and
// more than one may: what exceeds a limit is the last that is evaluated.
func TestBudget(t *testing.T) {
	type rules = apiextensionsv1.ValidationRules
	const dear = "!self.c.matches(self.r)"
	said := rules{{Rule: "self.c == ''", MessageExpression: dear + " ? 'said' : ''"}}
	for name, c := range map[string]struct {
		rules  rules
		length int // of a text that costs ten times as much to match
		want   []string
	}{
		"ten of them":    {slices.Repeat(rules{{Rule: dear}}, 10), 99000, nil},
		"eleven of them": {append(slices.Repeat(rules{{Rule: dear}}, 11), rules{{Rule: "false"}}...), 99000, []string{"running out of cost budget, no further"}},
		"a dear one":     {append(rules{{Rule: "false"}, {Rule: dear}}, rules{{Rule: "false"}}...), 100000, []string{"failed rule: false", "call cost exceeds limit for rule: " + dear}},
		"messages":       {slices.Repeat(said, 3), 99000, []string{"said", "said", "said"}},
		"many messages":  {slices.Repeat(said, 12), 99000, append(slices.Repeat([]string{"said"}, 10), "messageExpression evaluation failed due to running out of cost budget")},
		"a dear message": {append(rules{{Rule: "false"}}, slices.Repeat(said, 2)...), 100000, []string{"failed rule: false", "call cost exceeds limit for messageExpression: \"" + dear}},
	} {
		p := &apiextensionsv1.JSONSchemaProps{}
		if err := json.Unmarshal([]byte(`{"type":"object","properties":{"c":{"type":"string"},"r":{"type":"string"}}}`), p); err != nil {
			t.Fatal(err)
		}
		p.XValidations = c.rules
		s, err := schema.New(p)
		if err != nil {
			t.Fatal(err)
		}
		value := map[string]any{"c": strings.Repeat("a", c.length), "r": strings.Repeat("b", 400)}
		errs := NewValidator(s, nil).Validate(t.Context(), nil, value, nil)
		same := len(errs) == len(c.want)
		for i := range min(len(errs), len(c.want)) {
			same = same && strings.Contains(errs[i].Error(), c.want[i])
		}
		if !same {
			t.Errorf("%s: %d errors: %v", name, len(errs), errs)
		}
	}
}

// TestObjectsAsMaps evaluates what is seen of objects where their type is not known before.
func TestObjectsAsMaps(t *testing.T) {
	for rule, holds := range map[string]bool{
		"dyn(self).all(k, k in ['a', 'b'])":      true,
		"'a' in dyn(self)":                       true,
		"'b' in dyn(self)":                       false,
		"dyn(self).size() == 1":                  true,
		"[dyn(self)].indexOf(self) == 0":         true,
		"'%s'.format([dyn(self)]).contains('x')": true,
		"has(self.a) && !has(self.b)":            true,
		"type(self) == map":                      true,
		"dyn(self) == {'a': 'x'}":                true,
		"{'a': 'x'} == dyn(self)":                true,
		"dyn(self) == {'a': 'y'}":                false,
		"dyn(self) == {'a': 'x', 'b': 'y'}":      false,
	} {
		p := &apiextensionsv1.JSONSchemaProps{}
		if err := json.Unmarshal([]byte(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`), p); err != nil {
			t.Fatal(err)
		}
		p.XValidations = apiextensionsv1.ValidationRules{{Rule: rule}}
		s, err := schema.New(p)
		if err != nil {
			t.Fatal(err)
		}
		if errs := NewValidator(s, nil).Validate(t.Context(), nil, map[string]any{"a": "x"}, nil); (len(errs) == 0) != holds {
			t.Errorf("%s: %v", rule, errs)
		}
	}
}
