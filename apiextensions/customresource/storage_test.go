package customresource

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"triplane.dev/apiextensions/conversion"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

const storedSchema = `{"type":"object","properties":{
 "spec":{"type":"object","properties":{
  "a":{"type":"string"},"b":{"type":"integer","default":3},"n":{"type":"string","nullable":true},
  "nd":{"type":"string","nullable":true,"default":"x"},
  "keep":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"k":{"type":"object","properties":{"x":{"type":"string"}}}}},
  "list":{"type":"array","items":{"type":"object","properties":{"x":{"type":"number"},"d":{"type":"boolean","default":true}}}},
  "nulls":{"type":"array","items":{"type":"string","default":"q"}},
  "kept":{"type":"array","x-kubernetes-preserve-unknown-fields":true,"items":{"type":"object","properties":{"x":{"type":"string"}}}},
  "open":{"type":"array","x-kubernetes-preserve-unknown-fields":true},
  "map":{"type":"object","additionalProperties":{"type":"object","properties":{"x":{"type":"string"},"d":{"type":"integer","default":1}}}},
  "any":{"type":"object","additionalProperties":true},
  "embedded":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"properties":{"spec":{"type":"object"}}},
  "ios":{"x-kubernetes-int-or-string":true}}},
 "status":{"type":"object","properties":{"s":{"type":"string"}}}}}`

const otherSchema = `{"type":"object","properties":{"spec":{"type":"object","properties":{
  "a":{"type":"string"},"b":{"type":"integer"},"n":{"type":"string"},"nd":{"type":"string","nullable":true},"added":{"type":"string","default":"y"},
  "keep":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"list":{"type":"array","items":{"type":"object","properties":{"x":{"type":"number"},"d":{"type":"boolean"}}}}}}}}`

// testDefinition has versions v1 (stored), v2 of another shape and v3 of the
// same one.
func testDefinition(t testing.TB) *Definition {
	t.Helper()
	schemas := map[string][]byte{}
	version := func(name, s string, stored bool) apiextensionsv1.CustomResourceDefinitionVersion {
		schemas[name] = []byte(s)
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: stored, Schema: &apiextensionsv1.CustomResourceValidation{},
			SelectableFields: []apiextensionsv1.SelectableField{{JSONPath: ".spec.a"}, {JSONPath: ".spec.b"}},
		}
	}
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: "Thing", ListKind: "ThingList"}
	d, err := New(&apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: names, Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				version("v1", storedSchema, true), version("v2", otherSchema, false), version("v3", storedSchema, false),
			},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: names},
	}, func() (map[string][]byte, error) { return schemas, nil }, conversion.None{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// decoded is the long way of Transcode.
func decoded(s *objectStorage, value []byte, version string) (map[string]any, error) {
	obj, err := s.DecodeStored(value)
	if err != nil {
		return nil, err
	}
	obj.(object).SetResourceVersion("77")
	codec := s.version.definition.versions[version].codec
	if obj, err = codec.FromHub(obj); err != nil {
		return nil, err
	}
	b, err := codec.Encode(nil, obj, wire.JSON)
	if err != nil {
		return nil, err
	}
	return parsed(b)
}

func parsed(b []byte) (m map[string]any, err error) {
	return m, kjson.UnmarshalCaseSensitivePreserveInts(b, &m)
}

// compare holds the short ways against the long ones; it returns whether the
// short way was taken to v1.
func compare(t *testing.T, d *Definition, s *objectStorage, value []byte) bool {
	t.Helper()
	taken := false
	for name := range d.versions {
		b, ok, err := s.Transcode(nil, value, "77", schema.GroupVersion{Group: "example.com", Version: name}, wire.JSON)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue
		}
		taken = taken || name == "v1"
		got, err := parsed(b)
		if err != nil {
			t.Fatalf("%s became %s: %v", value, b, err)
		}
		want, err := decoded(s, value, name)
		if err != nil {
			t.Fatalf("%s cannot be decoded, but became %s: %v", value, b, err)
		}
		if !equality.Semantic.DeepEqual(got, want) {
			t.Fatalf("%s in %s:\n  got %v\n want %v", value, name, got, want)
		}
	}
	compareSelected(t, d, s, value)
	return taken
}

func compareSelected(t *testing.T, d *Definition, s *objectStorage, value []byte) {
	t.Helper()
	labels, labelled := s.StoredLabels(value)
	fields, ok := s.StoredFields(value)
	if !labelled || !ok {
		return
	}
	obj, err := s.DecodeStored(value)
	if err != nil {
		t.Fatalf("%s has attributes but cannot be decoded: %v", value, err)
	}
	u := obj.(object)
	want := map[string]string{storage.FieldName: u.GetName(), storage.FieldNamespace: u.GetNamespace(), storage.FieldUID: string(u.GetUID())}
	for _, f := range d.selectableFields() {
		want[f.Path] = f.Get(u)
	}
	if !slices.Equal(labels, storage.SetOf(u.GetLabels())) || !slices.Equal(fields, storage.SetOf(want)) {
		t.Fatalf("%s:\n  got %v, %v\n want %v, %v", value, labels, fields, u.GetLabels(), want)
	}
}

var storedSeeds = []string{
	`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"generation":1,"labels":{"a":"b"},"name":"x","namespace":"n","uid":"u"},"spec":{"a":"s","b":3,"nd":"x"}}`,
	`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"generation":1,"name":"x"},"spec":{"a":"s","b":3,"nd":null}}`,
	`{"apiVersion":"example.com/v2","kind":"Thing","metadata":{"generation":1,"name":"x"},"spec":{}}`,
	`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"generation":0,"name":"x"}}`,
	`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"generation":2,"name":"x"},"spec":{"b":-0,"nd":"x"}}`,
	`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"generation":2,"name":"x","resourceVersion":"3"}}`,
	`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"generation":2,"name":"x"},"spec":{"a":"\u003c\ud83d\ude00","b":1e21,"nd":"\\"},"status":{"s":"é"}}` + "\n",
	`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"generation":2,"name":"x"},"spec":{"b":3,"keep":{"k":{},"u":[null,{"z":null}]},"kept":[{"x":"1","y":[2]}],"nd":"x","nulls":[null],"open":[{"p":1}]}}`,
	`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"generation":2,"name":"x"},"spec":{"any":{"q":{}},"b":3,"embedded":{"apiVersion":"v1","kind":"P","metadata":{"name":"e"},"spec":{},"z":1},"ios":"5%","list":[{"d":false,"x":1.5}],"map":{"k":{"d":1,"x":""}},"nd":"x"}}`,
	`{"apiVersion":"example.com/v1", "kind":"Thing","metadata":{"generation":2,"name":"x"}}`,
	`{"kind":"Thing","apiVersion":"example.com/v1","metadata":{"name":"x","generation":2}}`,
	`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"creationTimestamp":null,"generation":2,"name":"x"}}`,
	`[`, `{"apiVersion":`, `{"metadata":{"name":"\`,
}

// Objects that kube-apiserver stored as CBOR are read as those in JSON.
func TestStoredCBOR(t *testing.T) {
	d := testDefinition(t)
	s := newStorage(d)
	for _, seed := range storedSeeds {
		content, err := parsed([]byte(seed))
		if err != nil {
			continue
		}
		value, err := wire.AppendCBOR(nil, content)
		if err != nil {
			t.Fatal(err)
		}
		if compare(t, d, s, value) {
			t.Errorf("%s in CBOR is returned as it is", seed)
		}
		want, err := s.DecodeStored([]byte(seed))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.DecodeStored(value); err != nil || !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("%s in CBOR is %v, %v", seed, got, err)
		}
	}
	if _, err := s.DecodeStored([]byte("\xd9\xd9\xf7\xff")); err == nil {
		t.Error("damaged CBOR is decoded")
	}
}

func FuzzTranscode(f *testing.F) {
	d := testDefinition(f)
	s := newStorage(d)
	for _, seed := range storedSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) { compare(t, d, s, value) })
}

// TestTranscodeRandom takes random objects, most of them with something to prune
// or to default, and what is left of them once they are tidy.
func TestTranscodeRandom(t *testing.T) {
	d := testDefinition(t)
	s := newStorage(d)
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		content := map[string]any{
			"apiVersion": "example.com/v1", "kind": "Thing",
			"metadata": map[string]any{"name": "x", "namespace": "n", "generation": int64(1), "labels": map[string]any{"l": "v"}},
			"spec":     randomObject(r, 4),
		}
		value, err := wire.AppendJSON(nil, content)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, d, s, value)
		obj, err := s.DecodeStored(value)
		if err != nil {
			t.Fatal(err)
		}
		tidy, err := s.EncodeStored(obj)
		if err != nil {
			t.Fatal(err)
		}
		if !compare(t, d, s, tidy) {
			t.Fatalf("the short way is not taken for %s", tidy)
		}
	}
}

var randomNames = []string{"a", "b", "n", "nd", "keep", "list", "nulls", "kept", "open", "map", "any", "embedded", "ios", "k", "x", "d", "spec", "metadata", "zz"}

func randomObject(r *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range r.IntN(6) {
		m[randomNames[r.IntN(len(randomNames))]] = randomValue(r, depth-1)
	}
	delete(m, "metadata")
	return m
}

func randomValue(r *rand.Rand, depth int) any {
	n := r.IntN(9)
	if depth <= 0 {
		n %= 6
	}
	switch n {
	case 0:
		return nil
	case 1:
		return r.Int64() - r.Int64()
	case 2:
		return r.NormFloat64()
	case 3:
		return "<é\n\"" + fmt.Sprint(r.IntN(10))
	case 4:
		return r.IntN(2) == 0
	case 5:
		return int64(r.IntN(3))
	case 6, 7:
		return randomObject(r, depth)
	}
	var list []any
	for range r.IntN(4) {
		list = append(list, randomValue(r, depth-1))
	}
	return list
}

func TestTranscodeTaken(t *testing.T) {
	d := testDefinition(t)
	s := newStorage(d)
	value := []byte(storedSeeds[0])
	for name, want := range map[string]bool{"v1": true, "v2": true, "v3": true} {
		b, ok, err := s.Transcode(nil, value, "77", schema.GroupVersion{Group: "example.com", Version: name}, wire.JSON)
		if ok != want || err != nil {
			t.Fatalf("%s: %v %v", name, ok, err)
		}
		if !bytes.Contains(b, []byte(`"resourceVersion":"77","uid":"u"`)) || !bytes.Contains(b, []byte("example.com/"+name)) {
			t.Errorf("%s: %s", name, b)
		}
	}
	if _, ok, _ := s.Transcode(nil, value, "77", schema.GroupVersion{Group: "example.com", Version: "v1"}, wire.YAML); ok {
		t.Error("YAML was made of JSON")
	}
}

func BenchmarkTranscode(b *testing.B) {
	d := testDefinition(b)
	s := newStorage(d)
	value := []byte(storedSeeds[8])
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	b.Run("bytes", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok, _ := s.Transcode(nil, value, "77", gv, wire.JSON); !ok {
				b.Fatal("not taken")
			}
		}
	})
	b.Run("decoded", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			obj, err := s.DecodeStored(value)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := d.storage.codec.Encode(nil, obj, wire.JSON); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestAsStored has a dry run answer with what would be read afterwards.
func TestAsStored(t *testing.T) {
	s := newStorage(testDefinition(t))
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "spec": map[string]any{"added": "of another version", "nd": nil, "keep": nil,
			"embedded": map[string]any{"metadata": nil, "spec": map[string]any{}}},
	}}
	s.AsStored(u)
	if want := map[string]any{"b": int64(3), "nd": nil, "embedded": map[string]any{"metadata": map[string]any{}, "spec": map[string]any{}}}; !equality.Semantic.DeepEqual(u.Object["spec"], want) {
		t.Errorf("got %v, want %v", u.Object["spec"], want)
	}
}

// Defaults of a schema may have metadata that ObjectMeta does not have. It is neither stored nor returned.
func TestDefaultsOfEmbeddedMetadata(t *testing.T) {
	crd := testDefinition(t).crd.DeepCopy()
	schemas := map[string][]byte{}
	for _, v := range crd.Spec.Versions {
		schemas[v.Name] = []byte(`{"type":"object","properties":{"spec":{"type":"object","properties":{
 "fields":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{
  "metadata":{"type":"object","properties":{
   "name":{"type":"string","default":"n"},"unknown":{"type":"string","default":"x"}}}}},
 "whole":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{
  "metadata":{"type":"object","default":{"name":"n","unknown":"x"}}}}}}}}`)
	}
	d, err := New(crd, func() (map[string][]byte, error) { return schemas, nil }, conversion.None{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	value := []byte(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},
 "spec":{"fields":{"metadata":{}},"whole":{}}}`)
	written, err := parsed(value)
	if err != nil {
		t.Fatal(err)
	}
	d.storage.codec.Default(&unstructured.Unstructured{Object: written})
	read, err := decoded(newStorage(d), value, "v1")
	if err != nil {
		t.Fatal(err)
	}
	embedded := map[string]any{"metadata": map[string]any{"name": "n"}}
	for what, obj := range map[string]map[string]any{"written": written, "read": read} {
		if want := map[string]any{"fields": embedded, "whole": embedded}; !equality.Semantic.DeepEqual(obj["spec"], want) {
			t.Errorf("%s: got %v, want %v", what, obj["spec"], want)
		}
	}
}
