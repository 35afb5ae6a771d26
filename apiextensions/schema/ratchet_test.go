package schema

import (
	"encoding/json"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func TestUnchangedValuesPass(t *testing.T) {
	const text = `{"type":"object","properties":{
		"a":{"type":"string","maxLength":3}, "b":{"type":"string","maxLength":3},
		"o":{"type":"object","required":["r"],"properties":{"x":{"type":"integer","maximum":3}}},
		"atomic":{"type":"array","items":{"type":"string","maxLength":3}},
		"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
		"map":{"type":"object","additionalProperties":{"type":"string","maxLength":3}},
		"list":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
			"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"string","maxLength":3}}}},
		"few":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"maxItems":1,
			"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"}}}},
		"one":{"type":"object","properties":{"p":{"type":"string"}},"oneOf":[{"properties":{"p":{"maxLength":3}}}]}}}`
	p := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	s, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewValidator(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, old, value string
		valid            bool
	}{
		{"unchanged field", `{"a":"long"}`, `{"a":"long","b":"x"}`, true},
		{"changed field", `{"a":"long"}`, `{"a":"longer"}`, false},
		{"another field becomes invalid", `{"a":"long"}`, `{"a":"long","b":"long"}`, false},
		{"field moves", `{"a":"long"}`, `{"b":"long"}`, false},
		{"required in an unchanged object", `{"o":{"x":1}}`, `{"o":{"x":1},"a":"x"}`, true},
		{"required in a changed object", `{"o":{"x":1}}`, `{"o":{"x":2}}`, false},
		{"nested", `{"o":{"r":1,"x":9}}`, `{"o":{"r":2,"x":9}}`, true},
		{"map", `{"map":{"a":"long"}}`, `{"map":{"a":"long","b":"x"}}`, true},
		{"atomic list, unchanged", `{"atomic":["long"]}`, `{"atomic":["long"],"a":"x"}`, true},
		{"atomic list, changed", `{"atomic":["long"]}`, `{"atomic":["long","x"]}`, false},
		{"list map, in another order", `{"list":[{"k":"a","v":"long"},{"k":"b"}]}`, `{"list":[{"k":"c"},{"k":"a","v":"long"}]}`, true},
		{"list map, another key", `{"list":[{"k":"a","v":"long"}]}`, `{"list":[{"k":"b","v":"long"}]}`, false},
		{"list map, turned around", `{"few":[{"k":"a"},{"k":"b"}]}`, `{"few":[{"k":"b"},{"k":"a"}]}`, true},
		{"list map, without the key", `{"list":[{"v":"x"}]}`, `{"list":[{"v":"x"}]}`, false},
		{"set, twice before", `{"set":["a","a"]}`, `{"set":["a","a","b"]}`, true},
		{"set, twice now", `{"set":["a","b"]}`, `{"set":["a","a"]}`, false},
		{"oneOf, unchanged", `{"one":{"p":"long"}}`, `{"one":{"p":"long"},"a":"x"}`, true},
		{"oneOf, below a change", `{"one":{"p":"long"}}`, `{"one":{"p":"long","q":"x"}}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var old, value any
			if err := utiljson.Unmarshal([]byte(c.old), &old); err != nil {
				t.Fatal(err)
			}
			if err := utiljson.Unmarshal([]byte(c.value), &value); err != nil {
				t.Fatal(err)
			}
			previous := func() any { return old }
			errs := v.ValidateUpdate(t.Context(), nil, s, value, previous)
			errs = append(errs, ValidateListsUpdate(nil, s, value, previous)...)
			if (len(errs) == 0) != c.valid {
				t.Errorf("valid %v, want %v: %v", len(errs) == 0, c.valid, errs)
			}
		})
	}
}
