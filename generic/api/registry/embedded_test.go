package registry

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/storage/wire"
)

func TestDecodeEmbeddedJSON(t *testing.T) {
	kind := appsv1.SchemeGroupVersion.WithKind("ControllerRevision")
	codec, err := NewTypedCodec(testScheme(t), kind, CodecOptions{})
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
	configMaps, err := NewTypedCodec(testScheme(t), v1.WithKind("ConfigMap"), CodecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if configMaps.(*typedCodec).embedsJSON() {
		t.Error("the managed fields of a ConfigMap count as embedded JSON")
	}
}
