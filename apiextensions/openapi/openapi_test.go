package openapi

import (
	"encoding/json"
	"reflect"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	structural "triplane/apiextensions/schema"
)

// TestPublish compares what both versions say of a field's schema; "" is what was
// given.
func TestPublish(t *testing.T) {
	const either = `"anyOf":[{"type":"integer"},{"type":"string"}]`
	for _, c := range []struct{ given, v2, v3 string }{
		{`{"type":"string","enum":["a"]}`, "", ""},
		{`{"type":"string","default":"a","pattern":"a","oneOf":[{"minLength":1}],"not":{"maxLength":9}}`, `{"type":"string","pattern":"a"}`, ""},
		{`{"type":"object","required":["n","s"],"properties":{"n":{"type":"string","nullable":true},"s":{"type":"string"}}}`,
			`{"type":"object","required":["s"],"properties":{"n":{},"s":{"type":"string"}}}`, ""},
		{`{"type":"array","items":{"type":"object","nullable":true,"properties":{"a":{"type":"string"}}}}`, `{"type":"array","items":{}}`, ""},
		{`{"x-kubernetes-int-or-string":true}`, `{"x-kubernetes-int-or-string":true}`, `{"x-kubernetes-int-or-string":true,` + either + `}`},
		{`{"x-kubernetes-int-or-string":true,` + either + `}`, `{"x-kubernetes-int-or-string":true}`, ""},
		{`{"x-kubernetes-int-or-string":true,"allOf":[{` + either + `},{"pattern":"a"}]}`, `{"x-kubernetes-int-or-string":true}`, ""},
		{`{"x-kubernetes-int-or-string":true,"anyOf":[{"pattern":"a"}]}`, `{"x-kubernetes-int-or-string":true}`,
			`{"x-kubernetes-int-or-string":true,"allOf":[{` + either + `}],"anyOf":[{"pattern":"a"}]}`},
		{`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"string"}}}`,
			`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, ""},
		{`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`,
			`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`,
			`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"required":["kind","apiVersion"],` +
				`"properties":{"apiVersion":{"type":"string","description":"` + embeddedAPIVersionDoc + `"},"kind":{"type":"string","description":"` + embeddedKindDoc +
				`"},"metadata":{"description":"` + metadataDoc + `","allOf":[{"$ref":"#/m/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]}}}`},
	} {
		for version, want := range map[bool]string{true: c.v2, false: c.v3} {
			if want == "" {
				want = c.given
			}
			r := &resource{v2: version, refs: "#/m/"}
			edit := r.publishV3
			if r.v2 {
				edit = r.publishV2
			}
			var props apiextensionsv1.JSONSchemaProps
			if err := json.Unmarshal([]byte(c.given), &props); err != nil {
				t.Fatal(err)
			}
			s, err := structural.ToOpenAPI(&props, edit)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := tree(t, s), tree(t, json.RawMessage(want)); !reflect.DeepEqual(got, want) {
				t.Errorf("%s, v2 %v:\n  got %v\n want %v", c.given, version, got, want)
			}
		}
	}
}

func tree(t *testing.T, v any) (out any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestKeptAtTheRoot has a schema say nothing in v2 whose objects may have any field.
func TestKeptAtTheRoot(t *testing.T) {
	yes := true
	r := &resource{
		crd: &apiextensionsv1.CustomResourceDefinition{}, v2: true,
		version: &apiextensionsv1.CustomResourceDefinitionVersion{Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &yes},
		}},
	}
	if s, err := r.object(); err != nil || !reflect.DeepEqual(s, &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}) {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestIdentifier(t *testing.T) {
	for _, c := range []struct{ group, lower, capital string }{
		{"example.com", "exampleCom", "ExampleCom"},
		{"cert-manager.io", "certManagerIo", "CertManagerIo"},
		{"a1.2b.example.com", "a12bExampleCom", "A12bExampleCom"},
		{"9a.example.com", "AExampleCom", "AExampleCom"},
	} {
		if l, u := identifier(c.group, false), identifier(c.group, true); l != c.lower || u != c.capital {
			t.Errorf("%s: %s, %s", c.group, l, u)
		}
	}
}
