package openapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/api/openapi/models"
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
		{`{"type":"string","x-kubernetes-int-or-string":true}`, "", `{"type":"string","x-kubernetes-int-or-string":true,` + either + `}`},
		{`{"x-kubernetes-int-or-string":true,` + either + `}`, `{"x-kubernetes-int-or-string":true}`, ""},
		{`{"x-kubernetes-int-or-string":true,"allOf":[{` + either + `},{"pattern":"a"}]}`, `{"x-kubernetes-int-or-string":true}`, ""},
		{`{"x-kubernetes-int-or-string":true,"anyOf":[{"pattern":"a"}]}`, `{"x-kubernetes-int-or-string":true}`,
			`{"x-kubernetes-int-or-string":true,"allOf":[{` + either + `}],"anyOf":[{"pattern":"a"}]}`},
		{`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"string"}}}`,
			`{"x-kubernetes-preserve-unknown-fields":true}`, ""},
		{`{"type":"array","items":{"type":"string"},"x-kubernetes-preserve-unknown-fields":true}`, `{"x-kubernetes-preserve-unknown-fields":true}`, ""},
		{`{"type":"string","x-kubernetes-preserve-unknown-fields":true}`, "", ""},
		{`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"additionalProperties":{"type":"string"}}`,
			`{"x-kubernetes-preserve-unknown-fields":true,"additionalProperties":{"type":"string"}}`, ""},
		{`{"type":"object","nullable":true,"additionalProperties":{"type":"string"}}`, `{"additionalProperties":{"type":"string"}}`, ""},
		{`{"type":"object","x-kubernetes-embedded-resource":true,"nullable":true,"properties":{"spec":{"type":"string"}}}`,
			`{"x-kubernetes-embedded-resource":true,"required":["kind","apiVersion"],"properties":{` + embeddedFields(`"$ref":"#/m/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"`) + `}}`,
			`{"type":"object","x-kubernetes-embedded-resource":true,"nullable":true,"required":["kind","apiVersion"],"properties":{"spec":{"type":"string"},` +
				embeddedFields(`"allOf":[{"$ref":"#/m/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]`) + `}}`},
		{`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`,
			`{"x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`,
			`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"required":["kind","apiVersion"],` +
				`"properties":{` + embeddedFields(`"allOf":[{"$ref":"#/m/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]`) + `}}`},
	} {
		for version, want := range map[bool]string{true: c.v2, false: c.v3} {
			if want == "" {
				want = c.given
			}
			p := publisher{v2: version, refs: "#/m/"}
			if got, want := tree(t, p.append(nil, nodeOf(c.given))), tree(t, []byte(want)); !reflect.DeepEqual(got, want) {
				t.Errorf("%s, v2 %v:\n  got %v\n want %v", c.given, version, got, want)
			}
		}
	}
}

// embeddedFields are those that all embedded objects have.
func embeddedFields(metadata string) string {
	return `"apiVersion":{"type":"string","description":"` + embeddedAPIVersionDoc + `"},"kind":{"type":"string","description":"` + embeddedKindDoc +
		`"},"metadata":{"description":"` + metadataDoc + `",` + metadata + `}`
}

func tree(t *testing.T, b []byte) (out any) {
	t.Helper()
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return out
}

// TestKeptAtTheRoot has a schema say nothing in v2 whose objects may have any field.
func TestKeptAtTheRoot(t *testing.T) {
	d := newDocument(&openapi.Draft{V2: true})
	r := &resource{crd: &apiextensionsv1.CustomResourceDefinition{}, schema: []byte(`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{}}}`)}
	if got := string(d.object(nil, r)); got != `{"type":"object"}` {
		t.Errorf("got %s", got)
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

// TestOperationIDs names operations as those of built-in kinds.
func TestOperationIDs(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}}}},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing", ListKind: "ThingList"}},
	}
	service, _ := serviceOf(large{crd: crd})
	w := httptest.NewRecorder()
	service.V3Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi/v3/apis/example.com/v1", nil))
	var got []string
	for _, item := range tree(t, w.Body.Bytes()).(map[string]any)["paths"].(map[string]any) {
		for _, op := range item.(map[string]any) {
			if op, ok := op.(map[string]any); ok {
				got = append(got, op["operationId"].(string))
			}
		}
	}
	slices.Sort(got)
	want := []string{
		"createExampleComV1NamespacedThing", "deleteExampleComV1CollectionNamespacedThing", "deleteExampleComV1NamespacedThing",
		"listExampleComV1NamespacedThing", "listExampleComV1ThingForAllNamespaces",
		"patchExampleComV1NamespacedThing", "patchExampleComV1NamespacedThingStatus", "readExampleComV1NamespacedThing",
		"readExampleComV1NamespacedThingStatus", "replaceExampleComV1NamespacedThing", "replaceExampleComV1NamespacedThingStatus",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBuiltInNames has kinds be called otherwise whose models would have the names of those
// that all objects and operations refer to.
func TestBuiltInNames(t *testing.T) {
	gv := schema.GroupVersion{Group: "meta.apis.pkg.apimachinery.k8s.io", Version: "v1"}
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: "statuses", Kind: "Status", ListKind: "StatusList"}
	crd := &apiextensionsv1.CustomResourceDefinition{
		Spec:   apiextensionsv1.CustomResourceDefinitionSpec{Group: gv.Group, Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true}}},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: names},
	}
	m := &models.Source{}
	service := openapi.NewService(openapi.NewBuilder(m, runtime.NewScheme(), "1"))
	service.Set("apis/x/v1", NewSource(m, gv, func() []Definition {
		return []Definition{large{crd, []byte(`{"type":"object","properties":{"probe":{}}}`)}}
	}))
	w := httptest.NewRecorder()
	service.V3Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi/v3/apis/x/v1", nil))
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
		Paths map[string]any
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	status := metaPackage + "Status"
	for name, field := range map[string]string{status: "reason", status + "_v2": "probe", metaPackage + "StatusList": "items"} {
		if _, ok := doc.Components.Schemas[name].Properties[field]; !ok {
			t.Errorf("%s is %v", name, doc.Components.Schemas[name])
		}
	}
	for path, refers := range map[string]string{"/apis/" + gv.String() + "/statuses": status, "/apis/" + gv.String() + "/statuses/{name}": status + "_v2"} {
		if text, err := json.Marshal(doc.Paths[path]); err != nil || !bytes.Contains(text, []byte(refers+`"`)) {
			t.Errorf("%s does not refer to %s: %s %v", path, refers, text, err)
		}
	}
}

// TestOldSchemas has v3 show those schemas of definitions that preserve unknown fields which
// are structural, and v2 none.
func TestOldSchemas(t *testing.T) {
	for _, c := range []struct {
		schema string
		shown  bool
	}{
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, true},
		{`{"type":"object","properties":{"a":{"minLength":1}}}`, false},
		{`{"properties":{"a":{"type":"string"}}}`, false},
		{`{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}`, false},
	} {
		var props apiextensionsv1.JSONSchemaProps
		if err := json.Unmarshal([]byte(c.schema), &props); err != nil {
			t.Fatal(err)
		}
		r := &resource{
			crd:     &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{PreserveUnknownFields: true}},
			version: &apiextensionsv1.CustomResourceDefinitionVersion{Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &props}},
			schema:  []byte(c.schema),
		}
		for _, v2 := range []bool{false, true} {
			got := string(newDocument(&openapi.Draft{V2: v2}).object(nil, r))
			if shown := got != `{"type":"object"}`; shown != (c.shown && !v2) {
				t.Errorf("%s, v2 %v: got %s", c.schema, v2, got)
			}
		}
	}
}

func nodeOf(schema string) node {
	all, _ := appendMember(nil, nil, []byte(schema), 0)
	return node{all: all}
}
