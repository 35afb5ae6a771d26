package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"triplane.dev/generic/storage/wire"
	"triplane.dev/internal/quantity"
)

func configMapA() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}}
}

func TestDecode(t *testing.T) {
	codec, err := New(clientscheme.Scheme, corev1.SchemeGroupVersion.WithKind("ConfigMap"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, body string
		mt         wire.MediaType
		strict     []string // unknown and duplicate fields
		kind, err  string
	}{
		{name: "full", body: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`, kind: "/v1, Kind=ConfigMap"},
		{name: "bare", body: `{"metadata":{"name":"a"}}`, kind: "/v1, Kind=ConfigMap"},
		{name: "no version", body: `{"kind":"ConfigMap","metadata":{"name":"a"}}`, kind: "/v1, Kind=ConfigMap"},
		{name: "empty group", body: `{"kind":"ConfigMap","apiVersion":"/v1","metadata":{"name":"a"}}`, kind: "/v1, Kind=ConfigMap"},
		{name: "unknown fields", body: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","x":1},"y":2,"data":{"k":"v","k":"w"}}`,
			strict: []string{`unknown field "metadata.x"`, `unknown field "y"`, `duplicate field "data.k"`}, kind: "/v1, Kind=ConfigMap"},
		{name: "yaml", mt: wire.YAML, body: "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\nz: 1\n", strict: []string{`unknown field "z"`}, kind: "/v1, Kind=ConfigMap"},
		{name: "another kind", body: `{"kind":"Secret","apiVersion":"v1"}`, kind: "/v1, Kind=Secret"},
		{name: "unknown kind", body: `{"kind":"Foo","apiVersion":"v1"}`, kind: "/v1, Kind=Foo", err: `no kind "Foo" is registered for version "v1"`},
		{name: "case", body: `{"Kind":"ConfigMap","apiVersion":"v1","metadata":{"Name":"a"}}`, kind: "/v1, Kind=ConfigMap", strict: []string{`unknown field "Kind"`, `unknown field "metadata.Name"`}},
		{name: "number", body: `{"kind":1,"apiVersion":"v1"}`, err: "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string"},
		{name: "wrong type", body: `{"kind":"ConfigMap","apiVersion":"v1","data":1}`, kind: "/v1, Kind=ConfigMap", err: "json: cannot unmarshal number into Go struct field ConfigMap.data of type map[string]string"},
		{name: "malformed", body: `{"kind":`, err: "couldn't get version/kind; json parse error: unexpected end of JSON input"},
		{name: "no protobuf", mt: wire.Protobuf, body: "{}", err: "provided data does not appear to be a protobuf message"},
	}
	for _, tt := range tests {
		obj, kind, strict, err := codec.Decode([]byte(tt.body), tt.mt, true)
		if kind == nil && tt.kind != "" || kind != nil && kind.String() != tt.kind {
			t.Errorf("%s: kind %v, want %s", tt.name, kind, tt.kind)
		}
		if tt.err != "" || err != nil {
			if err == nil || !strings.HasPrefix(err.Error(), tt.err) || tt.err == "" {
				t.Errorf("%s: error %v, want %s", tt.name, err, tt.err)
			}
			continue
		}
		var texts []string
		for _, e := range strict {
			texts = append(texts, e.Error())
		}
		if strings.Join(texts, "\n") != strings.Join(tt.strict, "\n") {
			t.Errorf("%s: strict errors %q, want %q", tt.name, texts, tt.strict)
		}
		if _, _, strict, _ := codec.Decode([]byte(tt.body), tt.mt, false); len(strict) > 0 {
			t.Errorf("%s: strict errors without being asked: %v", tt.name, strict)
		}
		if c, ok := obj.(*corev1.ConfigMap); ok && c.Name != "a" && tt.name != "case" {
			t.Errorf("%s: decoded %+v", tt.name, c)
		}
	}
}

func TestRoundTrips(t *testing.T) {
	codec, err := New(clientscheme.Scheme, corev1.SchemeGroupVersion.WithKind("ConfigMap"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for mt := wire.JSON; mt <= wire.CBOR; mt++ {
		b, err := codec.Encode([]byte{}, configMapA(), mt)
		if err != nil {
			t.Fatal(err)
		}
		obj, kind, _, err := codec.Decode(b, mt, true)
		if err != nil || *kind != codec.Kind() {
			t.Fatal(mt, kind, err)
		}
		if c := obj.(*corev1.ConfigMap); c.Name != "a" || c.Data["k"] != "v" {
			t.Errorf("media type %d: %+v", mt, c)
		}
		prefixed, err := codec.Encode([]byte("pre"), configMapA(), mt)
		if err != nil || string(prefixed) != "pre"+string(b) {
			t.Errorf("media type %d: %q, %v", mt, prefixed, err)
		}
	}
}

// FuzzDecode holds the short way of decoding JSON against the long one.
func FuzzDecode(f *testing.F) {
	codec, err := New(clientscheme.Scheme, corev1.SchemeGroupVersion.WithKind("ConfigMap"), Options{})
	if err != nil {
		f.Fatal(err)
	}
	typed := codec.(*typed)
	for _, s := range []string{`{"kind":"ConfigMap","apiVersion":"v1","data":{"a":"b"}}`, `{"kind":"ConfigMap","kind":"Secret","apiVersion":"v1"}`, `null`, `{"Kind":"Secret","kind":"ConfigMap","apiVersion":"v1"}`} {
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, strict bool) {
		short, shortErrs, ok := typed.decodeJSON(body, strict)
		if !ok {
			return
		}
		long, kind, longErrs, err := typed.decodeLong(body, wire.JSON, strict)
		if err != nil || kind == nil {
			return // encoding/json's idea of kind differs by case; what is exact counts
		}
		if *kind == typed.kind && (len(shortErrs) != len(longErrs) || short.(*corev1.ConfigMap).String() != long.(*corev1.ConfigMap).String()) {
			t.Fatalf("%v %v\n%v %v", short, shortErrs, long, longErrs)
		}
	})
}

// FuzzDecodeYAML holds the decoding of YAML as the JSON that it is converted to against the long way.
func FuzzDecodeYAML(f *testing.F) {
	codec, err := New(clientscheme.Scheme, corev1.SchemeGroupVersion.WithKind("ConfigMap"), Options{})
	if err != nil {
		f.Fatal(err)
	}
	typed := codec.(*typed)
	for _, s := range []string{
		"kind: ConfigMap\napiVersion: v1\ndata: {a: b}",
		"kind: ConfigMap\nkind: ConfigMap\napiVersion: v1\nmore: 1",
		"kind: ConfigMap\napiVersion: v1\ndata:\n  a: 'b'\n  a: 'c'\nmore: 1\nless: [a]",
		"null", "a: &a [1]\nb: *a", "kind: Secret", "{", "1e3: 1",
	} {
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, strict bool) {
		short, shortKind, shortErrs, shortErr := typed.Decode(body, wire.YAML, strict)
		long, longKind, longErrs, longErr := typed.decodeLong(body, wire.YAML, strict)
		if fmt.Sprint(shortKind, shortErrs, shortErr, short) != fmt.Sprint(longKind, longErrs, longErr, long) {
			t.Fatalf("%v %v %v %v\n%v %v %v %v", short, shortKind, shortErrs, shortErr, long, longKind, longErrs, longErr)
		}
	})
}

// No quantity takes the decoder for ever, in whatever form it comes; a text that only looks like one is no matter.
func TestDecodeLongQuantities(t *testing.T) {
	codec, err := New(clientscheme.Scheme, corev1.SchemeGroupVersion.WithKind("Pod"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	pod := func(name, quantity string) []byte {
		return []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"` + name + `"},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"` + quantity + `"}}}]}}`)
	}
	forms := map[wire.MediaType]func(name, quantity string) []byte{
		wire.JSON: pod,
		wire.YAML: func(name, quantity string) []byte {
			return bytes.ReplaceAll(pod(name, quantity), []byte("e999999999"), []byte(`\x65999999999`))
		},
		wire.CBOR: func(name, quantity string) []byte {
			var tree any
			if err := json.Unmarshal(pod(name, quantity), &tree); err != nil {
				t.Fatal(err)
			}
			b, err := wire.AppendCBOR(nil, tree)
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		wire.Protobuf: func(name, quantity string) []byte {
			obj, _, _, err := codec.Decode(pod(name, strings.ReplaceAll(quantity, "e999999999", "1111111111")), wire.JSON, true)
			if err != nil {
				t.Fatal(err)
			}
			b, err := codec.Encode(nil, obj, wire.Protobuf)
			if err != nil {
				t.Fatal(err)
			}
			return bytes.ReplaceAll(b, []byte("11111111111"), []byte("1e999999999"))
		},
	}
	for mt, form := range forms {
		for _, strict := range []bool{false, true} {
			if _, _, _, err := codec.Decode(form("a", "1e999999999"), mt, strict); !errors.Is(err, quantity.ErrTooLong) {
				t.Errorf("media type %v: %v", mt, err)
			}
			obj, _, _, err := codec.Decode(form("1e99999", "1"), mt, strict)
			if err != nil || obj.(*corev1.Pod).Name != "1e99999" {
				t.Errorf("media type %v: a name: %v", mt, err)
			}
		}
	}
}

// A UID may end as a number with an exponent, and the digit that is the tag of the next field in protobuf.
func TestDecodeLongNumbersInUIDs(t *testing.T) {
	codec, err := New(clientscheme.Scheme, corev1.SchemeGroupVersion.WithKind("Pod"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, uid := range []types.UID{"2c4f5e12-0000-4000-8000-0000000ae123", "2c4f5e12-0000-4000-8000-0000001e1234", "00000000-1e44-4000-8e12-91e444444444"} {
		want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: uid, ResourceVersion: "2099", Labels: map[string]string{"1e1": "2e22"}}}
		want.Spec.Containers = []corev1.Container{{Name: "1e2", Image: "2e222", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"9e9": resource.MustParse("22"), "cpu": resource.MustParse("1")}}}}
		for _, mt := range []wire.MediaType{wire.JSON, wire.YAML, wire.CBOR, wire.Protobuf} {
			body, err := codec.Encode(nil, want, mt)
			if err != nil {
				t.Fatal(err)
			}
			got, _, _, err := codec.Decode(body, mt, true)
			if err != nil || !apiequality.Semantic.DeepEqual(got.(*corev1.Pod).ObjectMeta, want.ObjectMeta) || !apiequality.Semantic.DeepEqual(got.(*corev1.Pod).Spec, want.Spec) {
				t.Errorf("%s as media type %v: %v, %v", uid, mt, got, err)
			}
		}
	}
}

// Quantities of a protobuf body are found by its fields, wherever they are, and what hides them is refused.
func TestCheckProtobuf(t *testing.T) {
	codec, err := New(clientscheme.Scheme, corev1.SchemeGroupVersion.WithKind("Pod"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	number := resource.MustParse("11111111111")
	for name, spec := range map[string]corev1.PodSpec{
		"a map's value":     {Overhead: corev1.ResourceList{"cpu": number}},
		"a list's element":  {InitContainers: []corev1.Container{{}, {Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": number}}}}},
		"behind a pointer":  {Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &number}}}}},
		"a divisor, inline": {Containers: []corev1.Container{{Env: []corev1.EnvVar{{ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Divisor: number}}}}}}},
	} {
		body, err := codec.Encode(nil, &corev1.Pod{Spec: spec}, wire.Protobuf)
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.ReplaceAll(body, []byte("11111111111"), []byte("1e999999999"))
		if _, _, _, err := codec.Decode(body, wire.Protobuf, true); !errors.Is(err, quantity.ErrTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// An object in a group, and one in a field whose number has 33 bits, of which decoders read the lower ones.
	cpu := []byte("\x12\x12\x82\x02\x0f\x0a\x03cpu\x12\x08\x0a\x061e9999")
	for name, hidden := range map[string][]byte{
		"behind a group":     append([]byte{0x7b, 0x7c}, cpu...),
		"a number of 33 bit": append([]byte{0x92, 0x80, 0x80, 0x80, 0x80, 0x01}, cpu[1:]...),
	} {
		body := append([]byte("k8s\x00\x12"), byte(len(hidden)))
		if _, _, _, err := codec.Decode(append(body, hidden...), wire.Protobuf, true); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, _, err := codec.Decode(append([]byte("k8s\x00\x12\x14"), cpu...), wire.Protobuf, true); !errors.Is(err, quantity.ErrTooLong) {
		t.Errorf("in the open: %v", err)
	}
}

func TestHasQuantities(t *testing.T) {
	for _, tt := range []struct {
		of   any
		want bool
	}{{&corev1.Pod{}, true}, {&corev1.PersistentVolumeClaimList{}, true}, {&corev1.ConfigMap{}, false}, {&corev1.Service{}, false}} {
		if got := hasQuantities(reflect.TypeOf(tt.of)); got != tt.want {
			t.Errorf("%T: %v", tt.of, got)
		}
	}
}

// Versions with the same fields share a Go type: errors of wrong types name the version of the body.
func TestDecodeNamesTheVersion(t *testing.T) {
	kind := discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice")
	kind.Version = "v1beta9"
	empty := func() runtime.Object { return &discoveryv1.EndpointSlice{} }
	codec, err := New(clientscheme.Scheme, kind, Options{New: empty})
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{"endpoints":[1]}`:              "EndpointSlice.endpoints of type v1beta9.Endpoint",
		`{"endpoints":1}`:                "EndpointSlice.endpoints of type []v1beta9.Endpoint",
		`{"metadata":1}`:                 "EndpointSlice.metadata of type v1.ObjectMeta",
		`{"addressType":1}`:              "EndpointSlice.addressType of type v1beta9.AddressType",
		`{"endpoints":[{"hostname":1}]}`: "Endpoint.endpoints.hostname of type string",
	} {
		want = "json: cannot unmarshal number into Go struct field " + want
		if _, _, _, err := codec.Decode([]byte(body), wire.JSON, true); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}
