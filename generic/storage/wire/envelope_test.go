package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestSetResourceVersionIsWhatEncodingGives compares the splice with a decode
// and an encode, for values whose lengths need one and two bytes.
func TestSetResourceVersionIsWhatEncodingGives(t *testing.T) {
	kind := appsv1.SchemeGroupVersion.WithKind("Deployment")
	for _, size := range []int{0, 1, 50, 60, 100, 120, 126, 127, 128, 129, 300, 16380, 16384, 20000} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "ns", Annotations: map[string]string{"x": string(bytes.Repeat([]byte("y"), size))}}}
		value, err := AppendProtobuf(nil, kind, d)
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range []string{"", "1", "1234567", "9223372036854775807"} {
			got, ok := AppendWithVersion(nil, value, version)
			d.ResourceVersion = version
			want, err := AppendProtobuf(nil, kind, d)
			if err != nil || !ok || !bytes.Equal(got, want) {
				t.Errorf("size %d, version %q: ok %v, %v\n got %q\nwant %q", size, version, ok, err, got, want)
			}
		}
	}
}

func TestSetResourceVersionRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, value := range []string{"", "k8s", "k8s\x00", "{}", "k8s\x00\x12\x05abc", "k8s\x00\x0a\x00\x12\x00", "k8s\x00\x0a\x00\x12\x02\x0a\x00",
		"k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if out, ok := AppendWithVersion(nil, []byte(value), "1"); ok {
			t.Errorf("%q became %q", value, out)
		}
	}
}

// FuzzAppendWithVersion compares the splice with a decoder and an encoder, for any bytes.
func FuzzAppendWithVersion(f *testing.F) {
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"l": "m"}, Finalizers: []string{"example.com/f"}}}
	value, err := AppendProtobuf(nil, corev1.SchemeGroupVersion.WithKind("ConfigMap"), c)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(value, "123")
	f.Add([]byte("k8s\x00\x0a\x00\x12\x04\x0a\x02\x32\x00"), "5")
	f.Add([]byte("k8s\x00"), "")
	f.Fuzz(func(t *testing.T, value []byte, version string) {
		out, ok := AppendWithVersion(nil, value, version)
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

// EnvelopeHead and EnvelopeTail around an encoded object are equal to the encoder's output.
func TestEnvelopeHeadAndTail(t *testing.T) {
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	for _, size := range []int{0, 100, 200, 20000} {
		c := &corev1.ConfigMap{Data: map[string]string{"a": string(bytes.Repeat([]byte("x"), size))}}
		want, err := AppendProtobuf([]byte("before"), kind, c)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		got := append(AppendEnvelopeHead([]byte("before"), kind, len(raw)), raw...)
		if got = append(got, EnvelopeTail()...); !bytes.Equal(got, want) {
			t.Errorf("size %d:\n got %q\nwant %q", size, got, want)
		}
		e, ok := OpenEnvelope(got[len("before"):])
		if !ok || !e.Is(kind) || !bytes.Equal(e.Object, raw) {
			t.Errorf("size %d: read back as %+v", size, e)
		}
		var back corev1.ConfigMap
		if err := UnmarshalStored(got[len("before"):], &back); err != nil || len(back.Data["a"]) != size {
			t.Errorf("size %d: %v, %d bytes", size, err, len(back.Data["a"]))
		}
	}
	if _, err := ObjectOf([]byte("{}")); err == nil {
		t.Error("JSON was read as protobuf")
	}
}

func TestCutObject(t *testing.T) {
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	prefix := ObjectPrefix(kind)
	for _, size := range []int{0, 1, 127, 128, 20_000} {
		object := bytes.Repeat([]byte{7}, size)
		value := slices.Concat(AppendEnvelopeHead(nil, kind, size), object, EnvelopeTail())
		got, ok := CutObject(value, prefix)
		if !ok || !bytes.Equal(got, object) {
			t.Errorf("%d bytes: %d, %v", size, len(got), ok)
		}
		for name, other := range map[string][]byte{
			"another kind": slices.Concat(AppendEnvelopeHead(nil, kind.GroupVersion().WithKind("Secret"), size), object,
				EnvelopeTail()),
			"cut off":      value[:len(value)-1],
			"no tail":      value[:len(value)-len(EnvelopeTail())],
			"longer":       append(slices.Clone(value), 0),
			"no size":      prefix,
			"endless size": append(slices.Clone(prefix), bytes.Repeat([]byte{0xff}, 20)...),
			"large size":   append(binary.AppendUvarint(slices.Clone(prefix), math.MaxUint64-3), EnvelopeTail()...),
		} {
			if got, ok := CutObject(other, prefix); ok {
				t.Errorf("%d bytes, %s: %d bytes", size, name, len(got))
			}
		}
	}
}
