package codec

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"triplane.dev/generic/storage/wire"
)

// No body of any media type may end in a panic, and what was read from one is
// written as JSON that means the same.
func FuzzDecodeMediaTypes(f *testing.F) {
	codec, err := New(clientscheme.Scheme, corev1.SchemeGroupVersion.WithKind("Pod"), Options{})
	if err != nil {
		f.Fatal(err)
	}
	seconds := int64(3)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{}}`)}}}},
		Spec:       corev1.PodSpec{TerminationGracePeriodSeconds: &seconds, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	for mt := wire.JSON; mt <= wire.CBOR; mt++ {
		b, err := codec.Encode(nil, pod, mt)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(mt), true)
		f.Add(b[:len(b)/2], uint8(mt), false)
	}
	f.Add([]byte("k8s\x00"), uint8(wire.Protobuf), false)
	f.Add([]byte("apiVersion: &a v1\nkind: Pod\nmetadata: {name: *a}\n"), uint8(wire.YAML), true)
	f.Fuzz(func(t *testing.T, body []byte, mt uint8, strict bool) {
		obj, _, _, err := codec.Decode(body, wire.MediaType(mt%4), strict)
		if err != nil {
			return
		}
		read, ok := obj.(*corev1.Pod)
		if !ok {
			return
		}
		first, err := codec.Encode(nil, read, wire.JSON)
		if err != nil || bytes.Contains(first, []byte(`\ufffd`)) {
			return // a time or quantity that JSON has no form for, or a text that is not UTF-8
		}
		obj, _, _, err = codec.Decode(first, wire.JSON, false)
		if err != nil {
			return // so, too
		}
		if second, err := codec.Encode(nil, obj, wire.JSON); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s\nbecame\n%s, %v", first, second, err)
		}
		for mt := wire.YAML; mt <= wire.CBOR; mt++ {
			_, _ = codec.Encode(nil, obj, mt)
		}
	})
}
