package registry

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/storage"
)

func TestSelectedOfBytes(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	for _, l := range []map[string]string{nil, {}, {"a": "b"}, {"a": "", "example.com/x": "y"}} {
		c := configMap("a")
		c.Namespace, c.Labels, c.UID = "ns", l, "u"
		value, err := s.encodeStored(c)
		if err != nil {
			t.Fatal(err)
		}
		labels, ok := s.form.Labels(value)
		if !ok || !slices.Equal(labels, storage.SetOf(l)) {
			t.Errorf("labels %v, want %v", labels, l)
		}
		fields, ok := s.form.Fields(value)
		if want := s.kind.FieldsOf(c); !ok || !slices.Equal(fields, want) || fields.Get("metadata.name") != "a" {
			t.Errorf("fields %v, want %v", fields, want)
		}
	}
	text := []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{"x":"y"}}}`)
	if _, ok := s.form.Labels(text); ok {
		t.Error("JSON was read as protobuf")
	}
	labels, err := s.labels(storage.NewRecord("", text, 0))
	if err != nil || labels.Get("x") != "y" {
		t.Errorf("%v, %v", labels, err)
	}
}

// What is not declared to be read is not there for Get.
func TestPartialObjects(t *testing.T) {
	pods := podKind()
	s, _ := newStore(t, pods)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "u"}, Spec: corev1.PodSpec{NodeName: "n"}}
	value, err := s.encodeStored(p)
	if err != nil {
		t.Fatal(err)
	}
	fields, ok := s.form.Fields(value)
	if want := s.kind.FieldsOf(p); !ok || !slices.Equal(fields, want) || fields.Get("spec.nodeName") != "n" {
		t.Errorf("fields %v, want %v", fields, want)
	}
	pods.Select.Fields[0].Reads = []string{"spec.nonsense"}
	if _, err := pods.Open(testScheme(t), kind.StorageOptions{}); err == nil {
		t.Error("a field that there is not can be read")
	}
}

// FuzzSelectedOfBytes holds what is read of any bytes against a decoder.
func FuzzSelectedOfBytes(f *testing.F) {
	s, _ := newStore(f, podKind())
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"l": "m", "n": ""}}, Spec: corev1.PodSpec{NodeName: "n"}}
	value, err := s.encodeStored(p)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(value)
	f.Fuzz(func(t *testing.T, value []byte) {
		labels, labelled := s.form.Labels(value)
		fields, ok := s.form.Fields(value)
		obj, err := s.form.DecodeStored(value)
		if err != nil {
			return
		}
		if want := storage.SetOf(obj.Labels); labelled && !slices.Equal(labels, want) {
			t.Fatalf("labels %v, want %v", labels, want)
		}
		if want := s.kind.FieldsOf(obj); ok && !slices.Equal(fields, want) {
			t.Fatalf("fields %v, want %v", fields, want)
		}
	})
}

func BenchmarkSelected(b *testing.B) {
	s, _ := newStore(b, podKind())
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "x", "tier": "y"}}, Spec: corev1.PodSpec{NodeName: "n"}}
	value, err := s.encodeStored(p)
	if err != nil {
		b.Fatal(err)
	}
	for name, read := range map[string]func([]byte) (storage.Set, bool){"labels": s.form.Labels, "fields": s.form.Fields} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := read(value); !ok {
					b.Fatal("cannot be read of the bytes")
				}
			}
		})
	}
}
