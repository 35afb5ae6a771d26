package responsewriters

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"testing"
	"triplane.dev/generic/api/codec"
	"triplane.dev/generic/storage/wire"
)

func TestUnstructuredListOrder(t *testing.T) {
	remaining := int64(3)
	codec, err := codec.New(clientscheme.Scheme, corev1.SchemeGroupVersion.WithKind("ConfigMap"), codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Scope{Kind: codec.Kind(), Codec: codec}
	m := metav1.ListMeta{ResourceVersion: "5", Continue: "a<b", RemainingItemCount: &remaining}
	e, err := s.contents(nil, 0).envelope(m, wire.JSON)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5","continue":"a\u003cb","remainingItemCount":3},"items":[]}`
	if got := string(e.bytes()); got != want || e.size() != len(want) {
		t.Errorf("%s", got)
	}
}

// A CBOR list of any items is one that clients can read.
func FuzzCBORList(f *testing.F) {
	f.Add("1", "ConfigMap", 3)
	f.Add("", "x\xff", 300)
	f.Fuzz(func(t *testing.T, version, kind string, n int) {
		items := make([][]byte, uint(n)%70000)
		for i := range items {
			b, err := wire.AppendCBOR(nil, map[string]any{"n": int64(i)})
			if err != nil {
				t.Fatal(err)
			}
			items[i] = b
		}
		m := listMeta(&corev1.ConfigMapList{})
		m.ResourceVersion = version
		c := contents{kind: schema.GroupVersionKind{Version: "v1", Kind: kind}, items: items, count: len(items)}
		e, err := cborEnvelope(c, m)
		if err != nil {
			return
		}
		var list unstructured.UnstructuredList
		if err := direct.Unmarshal(e.bytes(), &list.Object); err != nil {
			t.Fatal(err)
		}
		read, _ := list.Object["items"].([]any)
		if len(read) != len(items) || list.GetKind() != kind || list.GetResourceVersion() != version {
			t.Fatalf("%d items of %q at %q came back as %d of %q at %q", len(items), kind, version, len(read), list.GetKind(), list.GetResourceVersion())
		}
		if n := len(read); n > 0 {
			if last, _ := read[n-1].(map[string]any); last["n"] != int64(n-1) {
				t.Fatalf("the last item is %v", read[n-1])
			}
		}
	})
}
