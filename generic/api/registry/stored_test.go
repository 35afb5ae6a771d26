package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/wire"
)

var v1 = corev1.SchemeGroupVersion

// TestWireForms holds the wire forms against the serializers of apimachinery,
// which kube-apiserver uses.
func TestWireForms(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		k := configMapKind()
		k.Representation = kind.Typed[*corev1.ConfigMap]{JSON: asJSON}
		s, m := newStore(t, k)
		in := configMap("a")
		in.Data["html"] = "<a>&\u2028"
		in.Labels = map[string]string{"b": "1", "a": "2"}
		c := must[*corev1.ConfigMap](t, create(s, in))
		kv, _ := m.get("/registry/configmaps/ns/a")
		if asJSON != bytes.HasPrefix(kv.Value, []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{`)) || asJSON != bytes.HasSuffix(kv.Value, []byte("}\n")) {
			t.Fatalf("stored %q", kv.Value)
		}
		if bytes.Contains(kv.Value, []byte("resourceVersion")) {
			t.Errorf("stored with its version: %q", kv.Value)
		}
		obj, err := get(s, "a")()
		if err != nil {
			t.Fatal(err)
		}
		st := obj.(rest.Stored)
		if st.ResourceVersion() != c.ResourceVersion {
			t.Errorf("version %s, want %s", st.ResourceVersion(), c.ResourceVersion)
		}
		c.SetGroupVersionKind(v1.WithKind("ConfigMap"))
		scheme := testScheme(t)
		for mt, encoder := range map[wire.MediaType]runtime.Encoder{
			wire.JSON:     jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, scheme, scheme, jsonserializer.SerializerOptions{}),
			wire.YAML:     jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, scheme, scheme, jsonserializer.SerializerOptions{Yaml: true}),
			wire.Protobuf: protobuf.NewSerializer(scheme, scheme),
			wire.CBOR:     cbor.NewSerializer(scheme, scheme),
		} {
			var want bytes.Buffer
			if err := encoder.Encode(c, &want); err != nil {
				t.Fatal(err)
			}
			got, err := st.Wire(v1, mt)
			if err != nil || !bytes.Equal(bytes.TrimSuffix(want.Bytes(), []byte("\n")), got) {
				t.Errorf("media type %d: %v\n got %q\nwant %q", mt, err, got, want.Bytes())
			}
			again, _ := st.Wire(v1, mt)
			if &again[0] != &got[0] {
				t.Errorf("media type %d was encoded twice", mt)
			}
		}
		wantItems(t, st, c)
	}
}

// wantItems holds the items of lists against those of a typed list.
func wantItems(t *testing.T, st rest.Stored, c *corev1.ConfigMap) {
	t.Helper()
	item := c.DeepCopy()
	item.TypeMeta = metav1.TypeMeta{}
	want, _ := json.Marshal(item)
	got, err := st.Wire(v1, wire.JSON)
	tail, ok := bytes.CutPrefix(got, wire.TypeMetaPrefix(v1.WithKind("ConfigMap")))
	if err != nil || !ok || !bytes.Equal(tail, want[1:]) {
		t.Errorf("JSON item %s, want %s, %v", got, want, err)
	}
	want, _ = c.Marshal()
	if got, err = st.Wire(v1, wire.Protobuf); err == nil {
		got, err = wire.ObjectOf(got)
	}
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("protobuf item %q, want %q, %v", got, want, err)
	}
	got, err = st.WireItem(v1, wire.CBOR)
	var fields unstructured.Unstructured
	serializer := cbor.NewSerializer(runtime.NewScheme(), runtime.NewScheme())
	if err != nil || len(got) == 0 {
		t.Errorf("CBOR item: %v", err)
	}
	if _, _, err := serializer.Decode(got, nil, &fields); err == nil || fields.GetName() != "a" {
		t.Errorf("CBOR item has a kind: %v", fields.Object)
	}
}

func TestKeptFormsOfAList(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	for i := range 100 {
		must[*corev1.ConfigMap](t, create(s, configMap(fmt.Sprint("a", i))))
	}
	list, err := s.list(inNamespace(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := make([][]byte, len(list.Items))
	for i, item := range list.Items {
		if i%3 > 0 {
			if want[i], err = item.Wire(v1, wire.Protobuf); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := list.Kept([][]byte{nil}, list.Items, rest.Form{Version: v1, MediaType: wire.Protobuf})[1:]
	if len(got) != len(want) {
		t.Fatalf("%d forms, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) || (got[i] == nil) != (want[i] == nil) {
			t.Errorf("form %d is %q, want %q", i, got[i], want[i])
		}
	}
	unknown := v1.WithKind("x").GroupKind().WithVersion("v9").GroupVersion()
	form := rest.Form{Version: unknown, MediaType: wire.Protobuf}
	if got := list.Kept(nil, list.Items[:2], form); len(got) != 2 || got[0] != nil {
		t.Errorf("a version that is not served: %q", got)
	}
}

func TestWireOfAnUnknownVersion(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	must[*corev1.ConfigMap](t, create(s, configMap("a")))
	obj, _ := get(s, "a")()
	if _, err := obj.(rest.Stored).Wire(v1.WithKind("x").GroupKind().WithVersion("v9").GroupVersion(), wire.JSON); err == nil {
		t.Error("no error")
	}
	if s.Resources(v1.WithKind("x").GroupKind().WithVersion("v9").GroupVersion()) != nil {
		t.Error("storage of a version that is not served")
	}
}

// TestStorageVersion keeps objects in another version than the hub, as
// CustomResourceDefinitions are, and reads them in either.
func TestStorageVersion(t *testing.T) {
	k := &kind.Kind[*autoscalingv2.HorizontalPodAutoscaler]{
		Hub: autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), Namespaced: true,
		New: func() *autoscalingv2.HorizontalPodAutoscaler { return &autoscalingv2.HorizontalPodAutoscaler{} },
		Representation: kind.Typed[*autoscalingv2.HorizontalPodAutoscaler]{
			StorageVersion: autoscalingv1.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
			Versions: []kind.Version[*autoscalingv2.HorizontalPodAutoscaler]{{
				Kind: autoscalingv1.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
				New:  func() runtime.Object { return &autoscalingv1.HorizontalPodAutoscaler{} },
				ToHub: func(o runtime.Object) (*autoscalingv2.HorizontalPodAutoscaler, error) {
					in := o.(*autoscalingv1.HorizontalPodAutoscaler)
					return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: in.ObjectMeta, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: in.Spec.MaxReplicas}}, nil
				},
				FromHub: func(in *autoscalingv2.HorizontalPodAutoscaler) (runtime.Object, error) {
					return &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: in.ObjectMeta, Spec: autoscalingv1.HorizontalPodAutoscalerSpec{MaxReplicas: in.Spec.MaxReplicas}}, nil
				},
			}},
		},
		Names: kind.Names{Plural: "horizontalpodautoscalers"},
	}
	s, m := newStore(t, k)
	in := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "h"}, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 7}}
	must[*autoscalingv2.HorizontalPodAutoscaler](t, create(s, in))
	kv, _ := m.get("/registry/horizontalpodautoscalers/ns/h")
	if e, ok := wire.OpenEnvelope(kv.Value); !ok || string(e.APIVersion) != "autoscaling/v1" {
		t.Fatalf("stored %q", kv.Value)
	}
	obj, err := get(s, "h")()
	if err != nil {
		t.Fatal(err)
	}
	for gv, want := range map[string]string{"autoscaling/v1": `"maxReplicas":7`, "autoscaling/v2": `"maxReplicas":7`} {
		v, _ := schema.ParseGroupVersion(gv)
		for _, mt := range []wire.MediaType{wire.JSON, wire.Protobuf} {
			b, err := obj.(rest.Stored).Wire(v, mt)
			if err != nil || !bytes.Contains(b, []byte(gv)) || mt == wire.JSON && !bytes.Contains(b, []byte(want)) {
				t.Errorf("%s, media type %d: %s, %v", gv, mt, b, err)
			}
		}
	}
	r := k.Representation.(kind.Typed[*autoscalingv2.HorizontalPodAutoscaler])
	r.StorageVersion = autoscalingv1.SchemeGroupVersion.WithKind("Other")
	k.Representation = r
	if _, err := NewStore(k, testScheme(t), newMemory().options()); err == nil {
		t.Error("a version that is not declared was taken")
	}
}
