package codec

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"triplane.dev/generic/storage/wire"
)

func TestDecodeEmbeddedJSON(t *testing.T) {
	kind := appsv1.SchemeGroupVersion.WithKind("ControllerRevision")
	codec, err := New(clientscheme.Scheme, kind, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for raw, ok := range map[string]bool{`{"a":1}`: true, `[]`: true, ``: false, `"`: false, `{`: false, `1z`: false, `z`: false} {
		body, err := wire.AppendProtobuf(nil, kind, &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(raw)}})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err = codec.Decode(body, wire.Protobuf, true); (err == nil) != ok {
			t.Errorf("%q: error %v", raw, err)
		}
	}
	configMaps, err := New(clientscheme.Scheme, corev1.SchemeGroupVersion.WithKind("ConfigMap"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if configMaps.(*typed).embedsJSON() {
		t.Error("the managed fields of a ConfigMap count as embedded JSON")
	}
}
