package control

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/storage/wire"
)

func TestMetaOfAllForms(t *testing.T) {
	yes, now := true, metav1.Now()
	o := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "n", Namespace: "ns", UID: "u", Labels: map[string]string{"a": "b"}, DeletionTimestamp: &now,
			Finalizers:      []string{"x/y", "x/z"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "pu", BlockOwnerDeletion: &yes}},
		},
		Data: map[string]string{"k": "v"},
	}
	want := Meta{
		APIVersion: "v1", Kind: "ConfigMap", Name: "n", Namespace: "ns", UID: "u", Deleting: true,
		Finalizers: o.Finalizers, Owners: o.OwnerReferences,
	}
	var protobuf []byte
	for _, form := range []wire.StoredForm{wire.StoredJSON, wire.StoredYAML, wire.StoredProtobuf} {
		value, err := wire.AppendStored(nil, o.GroupVersionKind(), o, form)
		if err != nil {
			t.Fatal(err)
		}
		protobuf = value
		got, err := ReadMeta(value)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v %v, want %+v", got, err, want)
		}
		if !Related(value) {
			t.Error("it has owners")
		}
	}
	plain, err := wire.AppendProtobuf(nil, corev1.SchemeGroupVersion.WithKind("ConfigMap"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	if err != nil || Related(plain) || Related([]byte(`{"metadata":{"name":"n"}}`)) || Related([]byte("metadata:\n  name: n\n")) {
		t.Errorf("an object without owners is related (%v)", err)
	}
	for i := range protobuf {
		_, _ = ReadMeta(protobuf[:i]) // whatever is stored, nothing panics
		Related(protobuf[:i])
	}
}
