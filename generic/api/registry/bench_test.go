package registry

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/api/codec"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

// The benchmarks go over the in-memory store: they measure the registry alone.

func benchConfigMap(i int) *corev1.ConfigMap {
	c := configMap(fmt.Sprintf("c%d", i))
	c.Labels = map[string]string{"app": "x", "tier": "y"}
	for j := range 8 {
		c.Data[fmt.Sprintf("key-%d", j)] = "a value of some length, as config maps have"
	}
	c.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "bench", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:data":{".":{},"f:k":{}}}`)}}}
	return c
}

func BenchmarkCreate(b *testing.B) {
	s, _ := newStore(b, configMapKind())
	objs := make([]*corev1.ConfigMap, b.N)
	for i := range objs {
		objs[i] = benchConfigMap(i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if _, err := s.Create(inNamespace(), rest.CreateRequest{Object: objs[i]}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	s, m := newStore(b, configMapKind())
	if _, err := s.Create(inNamespace(), rest.CreateRequest{Object: benchConfigMap(0)}); err != nil {
		b.Fatal(err)
	}
	i := 0
	grow := change(func(c *corev1.ConfigMap) { i++; c.Data["k"] = fmt.Sprint(i) })
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Update(inNamespace(), rest.UpdateRequest{Name: "c0", Change: grow}); err != nil {
			b.Fatal(err)
		}
		m.history, m.events = trim(m), nil
	}
}

// trim forgets old revisions, so that long runs stay the same.
func trim(m *memory) map[string][]storage.KeyValue {
	for k, h := range m.history {
		m.history[k] = h[len(h)-1:]
	}
	return m.history
}

func BenchmarkGetWire(b *testing.B) {
	for _, mt := range []wire.MediaType{wire.JSON, wire.Protobuf} {
		b.Run(fmt.Sprintf("kept/%d", mt), func(b *testing.B) {
			s, _ := newStore(b, configMapKind())
			if _, err := s.Create(inNamespace(), rest.CreateRequest{Object: benchConfigMap(0)}); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				obj, err := s.Get(inNamespace(), rest.GetRequest{Name: "c0"})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := obj.(rest.Stored).Wire(v1, mt); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("encoded/%d", mt), func(b *testing.B) {
			s, m := newStore(b, configMapKind())
			if _, err := s.Create(inNamespace(), rest.CreateRequest{Object: benchConfigMap(0)}); err != nil {
				b.Fatal(err)
			}
			kv, _ := m.get("/registry/configmaps/ns/c0")
			b.ReportAllocs()
			for b.Loop() {
				r := m.record(kv)
				if _, err := s.encode(nil, r, 0, mt); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkListWire(b *testing.B) {
	s, _ := newStore(b, configMapKind())
	for i := range 500 {
		if _, err := s.Create(inNamespace(), rest.CreateRequest{Object: benchConfigMap(i)}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		l, err := s.list(inNamespace(), &metainternalversion.ListOptions{ResourceVersion: "0"})
		if err != nil {
			b.Fatal(err)
		}
		for _, item := range l.Items {
			if _, err := item.Wire(v1, wire.JSON); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkDecodeJSON(b *testing.B) {
	codec, err := codec.New(testScheme(b), v1.WithKind("ConfigMap"), codec.Options{})
	if err != nil {
		b.Fatal(err)
	}
	body, err := codec.Encode(nil, benchConfigMap(0), wire.JSON)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, err := codec.Decode(body, wire.JSON, true); err != nil {
			b.Fatal(err)
		}
	}
}
