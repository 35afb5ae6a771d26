package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"triplane/generic/wire"
	"triplane/internal/quantity"
)

func TestDecode(t *testing.T) {
	codec, err := NewTypedCodec(testScheme(t), v1.WithKind("ConfigMap"), CodecOptions{})
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
	codec, err := NewTypedCodec(testScheme(t), v1.WithKind("ConfigMap"), CodecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for mt := wire.JSON; mt <= wire.CBOR; mt++ {
		b, err := codec.Encode([]byte{}, configMap("a"), mt)
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
		prefixed, err := codec.Encode([]byte("pre"), configMap("a"), mt)
		if err != nil || string(prefixed) != "pre"+string(b) {
			t.Errorf("media type %d: %q, %v", mt, prefixed, err)
		}
	}
}

// FuzzDecode holds the short way of decoding JSON against the long one.
func FuzzDecode(f *testing.F) {
	codec, err := NewTypedCodec(testScheme(f), v1.WithKind("ConfigMap"), CodecOptions{})
	if err != nil {
		f.Fatal(err)
	}
	typed := codec.(*typedCodec)
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

// No quantity takes the decoder for ever, in whatever form it comes; a text that only looks like one is no matter.
func TestDecodeLongQuantities(t *testing.T) {
	codec, err := NewTypedCodec(clientscheme.Scheme, corev1.SchemeGroupVersion.WithKind("Pod"), CodecOptions{})
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
			if mt == wire.CBOR {
				continue
			}
			obj, _, _, err := codec.Decode(form("1e99999", "1"), mt, strict)
			if err != nil || obj.(*corev1.Pod).Name != "1e99999" {
				t.Errorf("media type %v: a name: %v", mt, err)
			}
		}
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
