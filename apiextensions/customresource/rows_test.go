package customresource

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/wire"
)

// storedItem is an item of a list whose JSON is at hand.
type storedItem struct {
	rest.Stored
	storage *objectStorage
	value   []byte
}

func (i *storedItem) Decode() (runtime.Object, error) { return i.storage.DecodeStored(i.value) }

func (i *storedItem) Wire(schema.GroupVersion, wire.MediaType) ([]byte, error) {
	return i.value, nil
}

func (i *storedItem) KeptRow(_ schema.GroupVersion, encode func() ([]byte, error)) ([]byte, error) {
	return encode()
}

// TestRows holds rows that are read out of bytes against those of decoded
// objects.
func TestRows(t *testing.T) {
	d := testDefinition(t)
	s := newStorage(d)
	codec := d.storage.codec
	paths := map[string][]string{
		".spec.a": {"string"}, ".spec.b": {"integer", "string", "number"}, ".metadata.creationTimestamp": {"date"},
		".spec.list": {"string"}, ".spec.map.k": {"string"}, ".spec.none.x": {"string"}, ".spec.f": {"integer", "number", "string"},
		".spec.t": {"boolean", "string"}, ".spec.l[0]": {"string"}, ".spec.null": {"string"},
	}
	value := []byte(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"creationTimestamp":"2026-01-02T03:04:05Z","generation":1,"name":"x"},` +
		`"spec":{"a":"<é","b":3,"f":2.5,"l":["y"],"list":[1,"b"],"map":{"k":{"d":1,"x":"z"}},"null":null,"t":true}}`)
	keep, version := *s, *s.version
	version.shape = func() (shape, error) { return shape{skeleton: anything}, nil }
	keep.version = &version
	for path, types := range paths {
		for _, typ := range types {
			c := newColumns(&apiextensionsv1.CustomResourceDefinitionVersion{AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{
				{Name: "C", Type: typ, JSONPath: path},
			}})
			convertor := &tableConvertor{codec: codec, columns: c}
			row, ok, err := convertor.row(&storedItem{storage: &keep, value: value})
			if err != nil || !ok {
				t.Fatalf("%s as %s: %v %v", path, typ, ok, err)
			}
			obj, err := keep.DecodeStored(value)
			if err != nil {
				t.Fatal(err)
			}
			slow, err := convertor.convert(t.Context(), obj, &metav1.TableOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got struct{ Cells []any }
			if err := json.Unmarshal(wire.NewRowWriter("v1", time.Now()).Append(nil, row), &got); err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(slow.Rows[0].Cells)
			if err != nil {
				t.Fatal(err)
			}
			var want []any
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Cells, want) {
				t.Errorf("%s as %s: %v, want %v", path, typ, got.Cells, want)
			}
			text := string(wire.NewRowWriter("v1", time.Now()).Append(nil, row))
			metadata := `"metadata":{"creationTimestamp":"2026-01-02T03:04:05Z"`
			if !strings.Contains(text, metadata) && plainNames(path) != nil {
				t.Errorf("%s: the metadata is not taken over: %s", path, text)
			}
		}
	}
}

// TestStringColumns has columns of texts show the first value that is found, and what is no text
// in JSON.
func TestStringColumns(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "x"}, "n": nil, "i": int64(1), "o": map[string]any{"k": "v"},
		"l": []any{map[string]any{"k": "a", "v": nil}, map[string]any{"k": "b", "v": int64(2)}}}}
	for path, want := range map[string]any{
		".i": "1", ".n": "<no value>", ".o": `{"k":"v"}`, ".l[*].k": "a", ".l[0:2].k": "a", ".l[0,1].k": "a", "['i','o']": "1",
		".l[?(@.k)].v": "<no value>", `.l[?(@.k=="b")].v`: "2", `.l[?(@.k=="c")].v`: nil, ".missing": nil,
	} {
		c := newColumns(&apiextensionsv1.CustomResourceDefinitionVersion{AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{
			{Name: "C", Type: "string", JSONPath: path},
		}})
		if got := c.cells(object, age)[1]; got != want {
			t.Errorf("%s shows %v, not %v", path, got, want)
		}
	}
}

// A path that cannot be read leaves out its column and those after it.
func TestUnreadableColumn(t *testing.T) {
	var declared []apiextensionsv1.CustomResourceColumnDefinition
	for _, path := range []string{".a", ".b[0", ".c"} {
		declared = append(declared, apiextensionsv1.CustomResourceColumnDefinition{Name: path, Type: "string", JSONPath: path})
	}
	c := newColumns(&apiextensionsv1.CustomResourceDefinitionVersion{AdditionalPrinterColumns: declared})
	cells := c.cells(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "x"}, "a": "1", "c": "3"}}, age)
	if !reflect.DeepEqual(cells, []any{"x", "1"}) || len(c.definitions) != 2 {
		t.Errorf("got %v under %v", cells, c.definitions)
	}
}

func TestPlainNames(t *testing.T) {
	for path, plain := range map[string]bool{".spec.a": true, ".a_b": true, "": false, ".": false, ".a[0]": false, ".a..b": false, ".a.*": false, `.a\.b`: false} {
		if got := plainNames(path) != nil; got != plain {
			t.Errorf("%q: %v", path, got)
		}
	}
}
