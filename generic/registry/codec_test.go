package registry

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"triplane/generic/wire"
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
