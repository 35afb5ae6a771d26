package registry

import (
	"bytes"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane/generic/storage"
)

// TestSetResourceVersionIsWhatEncodingGives compares the splice with a decode
// and an encode, for values whose lengths need one and two bytes.
func TestSetResourceVersionIsWhatEncodingGives(t *testing.T) {
	deployments, _ := newStore(t, deploymentKind())
	kind := appsv1.SchemeGroupVersion.WithKind("Deployment")
	for _, size := range []int{0, 1, 50, 60, 100, 120, 126, 127, 128, 129, 300, 16380, 16384, 20000} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "ns", Annotations: map[string]string{"x": string(bytes.Repeat([]byte("y"), size))}}}
		value, err := deployments.encodeStored(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range []string{"", "1", "1234567", "9223372036854775807"} {
			got, ok := setResourceVersion(value, version)
			d.ResourceVersion = version
			want, err := appendProtobuf(nil, kind, d)
			if err != nil || !ok || !bytes.Equal(got, want) {
				t.Errorf("size %d, version %q: ok %v, %v\n got %q\nwant %q", size, version, ok, err, got, want)
			}
		}
	}
}

func TestSetResourceVersionRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, value := range []string{"", "k8s", "k8s\x00", "{}", "k8s\x00\x12\x05abc", "k8s\x00\x0a\x00\x12\x00", "k8s\x00\x0a\x00\x12\x02\x0a\x00",
		"k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if out, ok := setResourceVersion([]byte(value), "1"); ok {
			t.Errorf("%q became %q", value, out)
		}
	}
}

// FuzzSetResourceVersion holds the splice, where it says that it can, against a
// decoder, for any bytes whatever.
func FuzzSetResourceVersion(f *testing.F) {
	s, _ := newStore(f, configMapKind())
	c := configMap("a")
	c.Labels, c.Finalizers = map[string]string{"l": "m"}, []string{"example.com/f"}
	value, err := s.encodeStored(c)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(value, "123")
	f.Add([]byte("k8s\x00\x0a\x00\x12\x04\x0a\x02\x32\x00"), "5")
	f.Add([]byte("k8s\x00"), "")
	f.Fuzz(func(t *testing.T, value []byte, version string) {
		out, ok := setResourceVersion(value, version)
		wireAttributes(value, true)
		if !ok {
			return
		}
		before, errBefore := decodeEnvelope(value)
		after, errAfter := decodeEnvelope(out)
		if (errBefore == nil) != (errAfter == nil) {
			t.Fatalf("decodes with %v, then with %v", errBefore, errAfter)
		}
		if errBefore != nil {
			return
		}
		if after.ResourceVersion != version {
			t.Fatalf("version %q, want %q", after.ResourceVersion, version)
		}
		before.ResourceVersion = version
		if !apiequality.Semantic.DeepEqual(before, after) {
			t.Fatalf("changed more than the version:\n%v\n%v", before, after)
		}
	})
}

func decodeEnvelope(value []byte) (*corev1.ConfigMap, error) {
	var u runtime.Unknown
	if err := u.Unmarshal(value[len(protobufPrefix):]); err != nil {
		return nil, err
	}
	c := &corev1.ConfigMap{}
	return c, c.Unmarshal(u.Raw)
}

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
