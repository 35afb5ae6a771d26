package registry

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"triplane/generic/storage"
)

func TestWireAttributes(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	for _, l := range []map[string]string{nil, {}, {"a": "b"}, {"a": "", "example.com/x": "y"}} {
		c := configMap("a")
		c.Namespace, c.Labels = "ns", l
		value, err := s.encodeStored(c)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := wireAttributes(value, true)
		want := s.objectAttributes(c)
		if !ok || got.Fields.String() != want.Fields.String() || !labels.Equals(got.Labels, want.Labels) {
			t.Errorf("%v: %+v, want %+v", l, got, want)
		}
		if a, err := s.attributes(&storage.Record{Value: value}); err != nil || a.Fields["metadata.name"] != "a" {
			t.Errorf("%v, %v", a, err)
		}
	}
	if _, ok := wireAttributes([]byte(`{"metadata":{"name":"a"}}`), true); ok {
		t.Error("JSON was read as protobuf")
	}
}

// FuzzWireAttributes reads any bytes without a panic.
func FuzzWireAttributes(f *testing.F) {
	s, _ := newStore(f, configMapKind())
	c := configMap("a")
	c.Labels = map[string]string{"l": "m"}
	value, err := s.encodeStored(c)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(value)
	f.Fuzz(func(t *testing.T, value []byte) {
		if a, ok := wireAttributes(value, true); ok && len(a.Fields) != 2 {
			t.Fatalf("fields %v of %q", a.Fields, value)
		}
	})
}
