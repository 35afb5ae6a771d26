package customresourcedefinition

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

//go:embed testdata/widgets.json
var widgets string

func TestCRDsAreKeptAsV1beta1(t *testing.T) {
	crd, err := decodeCRD([]byte(widgets))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := Storage{}.EncodeStored(crd)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(stored), `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1",`) || !strings.HasSuffix(string(stored), "\n") {
		t.Errorf("stored as %s", stored)
	}
	var shape struct {
		Spec struct {
			Version    string
			Validation map[string]any
		}
	}
	if err := json.Unmarshal(stored, &shape); err != nil || shape.Spec.Version != "v1" || shape.Spec.Validation == nil {
		t.Errorf("stored as %s", stored)
	}
	again, err := decodeCRD(stored)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.Spec, crd.Spec) || !reflect.DeepEqual(again.Status, crd.Status) {
		t.Errorf("got %+v, want %+v", again.Spec, crd.Spec)
	}
}

// The JSON of schemas is the same in both versions: that they are not converted rests on it.
func TestVersionsWriteSchemasAlike(t *testing.T) {
	v1, v1beta1 := reflect.TypeFor[apiextensionsv1.JSONSchemaProps](), reflect.TypeFor[apiextensionsv1beta1.JSONSchemaProps]()
	if v1.NumField() != v1beta1.NumField() {
		t.Fatalf("%d and %d fields", v1.NumField(), v1beta1.NumField())
	}
	for i := range v1.NumField() {
		a, b := v1.Field(i), v1beta1.Field(i)
		if a.Tag.Get("json") != b.Tag.Get("json") || a.Type.Kind() != b.Type.Kind() {
			t.Errorf("%s %s and %s %s", a.Name, a.Type, b.Name, b.Type)
		}
	}
}

// TestStoredAsConverted compares what is stored with what the conversion of the whole CRD
// makes, and reads it back.
func TestStoredAsConverted(t *testing.T) {
	schema := func(values string) string {
		return `{"openAPIV3Schema":{"type":"object","description":"1 <b> \u2028","properties":{"spec":{"type":"object","properties":{"a":` + values + `}}}}}`
	}
	version := func(name, schema string, storage bool) string {
		return fmt.Sprintf(`{"name":%q,"served":true,"storage":%v,"schema":%s}`, name, storage, schema)
	}
	for _, versions := range []string{
		version("v1", schema(`{"type":"string","default":"a","enum":["a","b"]}`), true),
		version("v1", schema(`{"type":"string"}`), true) + "," + version("v2", schema(`{"type":"string"}`), false),
		version("v1", schema(`{"type":"string"}`), true) + "," + version("v2", schema(`{"type":"integer","default":7}`), false) + "," + version("v3", schema(`{"type":"string"}`), false),
		version("v1", schema(`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"default":{"z":1.50,"a":"\u0041<","m":null}}`), true),
		version("v1", schema(`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"default":{"z":1,"a":2}}`), true) + "," +
			version("v2", schema(`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"default":{"a":2, "z":1}}`), false),
		version("v1", schema(`{"type":"array","items":{"type":"number","enum":[1e3,-0,9223372036854775808,2.0]},"example":[{"b":1,"a":2}]}`), true),
		version("v1", `{"openAPIV3Schema":null}`, true),
		version("v1", `{}`, true),
		version("v1", `null`, true),
	} {
		body := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.x.io"},"spec":{"group":"x.io","scope":"Namespaced","versions":[` + versions + `]}}`
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := json.Unmarshal([]byte(body), crd); err != nil {
			t.Fatal(err)
		}
		setDefaults(crd)
		got, err := Storage{}.EncodeStored(crd)
		if err != nil {
			t.Fatal(err)
		}
		want := convertedAtOnce(t, crd)
		if string(got) != want {
			t.Errorf("%s\n got %s\nwant %s", versions, got, want)
		}
		read, err := decodeCRD(got)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := decodeAtOnce(got)
		if err != nil {
			t.Fatal(err)
		}
		if !equality.Semantic.DeepEqual(read, whole) {
			t.Errorf("%s\n got %+v\nwant %+v", versions, read, whole)
		}
		answered, err := Storage{}.TranscodeJSON(got, "7")
		read.ResourceVersion = "7"
		if want, wrong := json.Marshal(read); err != nil || wrong != nil || string(answered) != string(want) {
			t.Errorf("%s, %v\n  answered %s\nwant %s", versions, err, answered, want)
		}
		closed, err := Storage{Closed: true}.DecodeStored(got)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := (Storage{Closed: true}).EncodeStored(closed); err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s, %v\n got %s\nwant %s", versions, err, again, got)
		}
	}
}

// convertedAtOnce is a CRD as storage holds it, by way of the conversion of all of it.
func convertedAtOnce(t *testing.T, crd Object) string {
	t.Helper()
	var hub apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd.DeepCopy(), &hub, nil); err != nil {
		t.Fatal(err)
	}
	var stored apiextensionsv1beta1.CustomResourceDefinition
	if err := apiextensionsv1beta1.Convert_apiextensions_CustomResourceDefinition_To_v1beta1_CustomResourceDefinition(&hub, &stored, nil); err != nil {
		t.Fatal(err)
	}
	stored.SetGroupVersionKind(apiextensionsv1beta1.SchemeGroupVersion.WithKind(GVK.Kind))
	b, err := json.Marshal(&stored)
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

func TestOutline(t *testing.T) {
	crd, err := decodeCRD([]byte(widgets))
	if err != nil {
		t.Fatal(err)
	}
	crd.Annotations = map[string]string{"a": "{\"}", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
	crd.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	stored, err := Storage{}.EncodeStored(crd)
	if err != nil {
		t.Fatal(err)
	}
	outline, err := DecodeOutline(stored)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := decodeCRD(stored)
	if err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(whole, crd) {
		t.Errorf("got %+v, want %+v", whole, crd)
	}
	crd.ManagedFields, crd.Annotations = nil, map[string]string{"a": "{\"}"}
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Schema = &apiextensionsv1.CustomResourceValidation{}
	}
	if !equality.Semantic.DeepEqual(outline, crd) {
		t.Errorf("the outline is %+v, want %+v", outline, crd)
	}
	indented := &bytes.Buffer{}
	if err := json.Indent(indented, stored, " ", "\t"); err != nil {
		t.Fatal(err)
	}
	if again, err := DecodeOutline(indented.Bytes()); err != nil || !equality.Semantic.DeepEqual(again, outline) {
		t.Errorf("indented it is %+v, %v", again, err)
	}
}

// FuzzOutline reads the outline of whatever can be read as a CRD, and of nothing else than JSON.
func FuzzOutline(f *testing.F) {
	f.Add([]byte(widgets))
	f.Add([]byte(`{"spec":{"versions":[{"schema":{"openAPIV3Schema":{}}}]}}`))
	f.Add([]byte(`{"spec":[{"versions":{"schema":[{"openAPIV3Schema":"}"}]}}]}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		whole, err := decodeAtOnce(value)
		outline, outlineErr := DecodeOutline(value)
		if err == nil && json.Valid(value) && (outlineErr != nil || outline.Name != whole.Name || len(outline.Spec.Versions) != len(whole.Spec.Versions)) {
			t.Fatalf("%s\nread as %+v, its outline as %+v, %v", value, whole, outline, outlineErr)
		}
		_, _ = decodeCRD(value)
	})
}

// BenchmarkDefinition reads and writes a CRD with a schema of a thousand nodes.
func BenchmarkDefinition(b *testing.B) {
	crd, err := decodeCRD([]byte(widgets))
	if err != nil {
		b.Fatal(err)
	}
	properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	for i := range 500 {
		properties[fmt.Sprintf("list%d", i)] = apiextensionsv1.JSONSchemaProps{
			Type: "array", Description: "a list of texts, each of which is set by whoever makes the object",
			Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}},
		}
	}
	stored, err := Storage{}.EncodeStored(crd)
	if err != nil {
		b.Fatal(err)
	}
	properties["limits"] = apiextensionsv1.JSONSchemaProps{
		Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"min": {Type: "integer"}, "max": {Type: "integer"}},
		XValidations: apiextensionsv1.ValidationRules{{Rule: "self.min <= self.max"}, {Rule: "self.max < 9", Message: "too much"}},
	}
	validate := Kind(Storage{}).Write.Validate
	for name, f := range map[string]func() error{
		"validate": func() error { return validate(b.Context(), crd, nil).ToAggregate() },
		"encode":   func() error { _, err := Storage{}.EncodeStored(crd); return err },
		"decode":   func() error { _, err := decodeCRD(stored); return err },
		"answer":   func() error { _, err := Storage{}.TranscodeJSON(stored, "7"); return err },
		"outline":  func() error { _, err := DecodeOutline(stored); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(stored)))
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
