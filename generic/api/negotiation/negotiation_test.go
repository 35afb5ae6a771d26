package negotiation

import (
	"net/http"
	"net/http/httptest"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"triplane.dev/generic/storage/wire"
)

var (
	everything = Rules{Protobuf: true, Transforms: true, Table: true}
	untyped    = Rules{ProtobufMetadata: true, Transforms: true, Table: true}
)

func get(accept string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept", accept)
	return r
}

func TestNegotiate(t *testing.T) {
	table := Output{Transform: Table, Version: "v1"}
	tests := []struct {
		accept string
		rules  Rules
		want   Output
		fails  bool
	}{
		{accept: "", rules: everything},
		{accept: "*/*", rules: everything},
		{accept: "application/*", rules: everything},
		{accept: "application/yaml", rules: everything, want: Output{MediaType: wire.YAML}},
		{accept: "application/vnd.kubernetes.protobuf", rules: everything, want: Output{MediaType: wire.Protobuf}},
		{accept: "application/vnd.kubernetes.protobuf", fails: true},
		{accept: "application/vnd.kubernetes.protobuf,application/json", want: Output{MediaType: wire.JSON}},
		{accept: "application/json;q=0.5,application/yaml;q=0.9", rules: everything, want: Output{MediaType: wire.YAML}},
		{accept: "application/cbor", rules: everything, fails: true},
		{accept: "application/cbor,application/json", rules: everything},
		{accept: "text/plain", rules: everything, fails: true},
		{accept: "application/json;pretty=1", rules: everything, want: Output{Pretty: true}},
		{accept: "application/json;stream=watch", rules: everything},
		{accept: "application/json;stream=other", rules: everything, fails: true},
		{accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", rules: everything, want: table},
		{accept: "application/json;as=Table;v=v2;g=meta.k8s.io,application/json;as=Table;v=v1;g=meta.k8s.io", rules: everything, want: table},
		{accept: "application/json;as=Table;v=v1;g=meta.k8s.io;q=0.5,application/json;q=0.9", rules: everything},
		{accept: "application/json;as=Table;v=v1;g=meta.k8s.io", rules: Rules{Transforms: true}, fails: true},
		{accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"},
		{accept: "application/json;as=table;v=v1;g=meta.k8s.io", rules: everything, fails: true},
		{accept: "application/json;as=ConfigMap;v=v1;g=", rules: everything, fails: true},
		{accept: "application/json;as=Table;v=v1", rules: everything, fails: true},
		{accept: "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io", rules: everything,
			want: Output{Transform: PartialObjectMetadataList, Version: "v1beta1"}},
		{accept: "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json", rules: untyped,
			want: Output{MediaType: wire.Protobuf, Transform: PartialObjectMetadata, Version: "v1"}},
		{accept: "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1;g=meta.k8s.io", rules: untyped, want: table},
		{accept: "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json", rules: everything},
		{accept: "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", rules: everything, fails: true},
		{accept: "application/cbor;as=Table;v=v1;g=meta.k8s.io", rules: Rules{CBOR: true, Transforms: true, Table: true}, fails: true},
		{accept: "application/vnd.kubernetes.protobuf", rules: untyped, fails: true},
		{accept: "application/vnd.kubernetes.protobuf,application/json", rules: untyped},
	}
	for _, tt := range tests {
		got, err := Negotiate(get(tt.accept), tt.rules)
		if (err != nil) != tt.fails || got != tt.want {
			t.Errorf("%q: %+v, %v", tt.accept, got, err)
		}
		if err != nil && !apierrors.IsNotAcceptable(err) {
			t.Errorf("%q: %v is no 406", tt.accept, err)
		}
	}
}

func TestPretty(t *testing.T) {
	for _, tt := range []struct {
		target, agent string
		want          bool
	}{
		{"/", "curl/8", true}, {"/", "Mozilla/5.0 (X11)", true}, {"/", "kubectl/v1", false},
		{"/?pretty=true", "kubectl/v1", true}, {"/?pretty=false", "curl/8", false}, {"/?pretty=", "curl/8", true},
	} {
		r := httptest.NewRequest(http.MethodGet, tt.target, nil)
		r.Header.Set("User-Agent", tt.agent)
		if got, err := Negotiate(r, everything); err != nil || got.Pretty != tt.want {
			t.Errorf("%+v: %+v, %v", tt, got, err)
		}
	}
}

func TestNegotiateStream(t *testing.T) {
	_, err := NegotiateStream(get("application/yaml"), everything)
	want := "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestNegotiateInput(t *testing.T) {
	for ct, want := range map[string]wire.MediaType{
		"": wire.JSON, "application/json": wire.JSON, "application/json; charset=utf-8": wire.JSON, "Application/JSON": wire.JSON,
		"application/yaml": wire.YAML, "application/vnd.kubernetes.protobuf": wire.Protobuf,
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Content-Type", ct)
		if got, err := NegotiateInput(r, Rules{Protobuf: true}); err != nil || got != want {
			t.Errorf("%q: %v, %v", ct, got, err)
		}
	}
	for _, ct := range []string{"text/yaml", "garbage", "application/cbor", ";"} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Content-Type", ct)
		if _, err := NegotiateInput(r, Rules{Protobuf: true}); !apierrors.IsUnsupportedMediaType(err) {
			t.Errorf("%q: %v", ct, err)
		}
	}
}

// Whatever a client accepts, the answer is one that the rules allow.
func FuzzAccept(f *testing.F) {
	for _, s := range []string{"*/*", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;q=x", ";;,,=", "a/b;c=\"d,e\""} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, accept string, protobuf bool) {
		rules := Rules{Protobuf: protobuf, Transforms: true}
		o, err := Negotiate(get(accept), rules)
		if err == nil && (o.Transform == Table || (o.MediaType == wire.Protobuf && !protobuf)) {
			t.Errorf("%q: %+v", accept, o)
		}
	})
}

func TestCBOR(t *testing.T) {
	on, off := Rules{Protobuf: true, CBOR: true}, Rules{Protobuf: true}
	tests := []struct {
		accept string
		rules  Rules
		stream bool
		want   wire.MediaType
		fails  bool
	}{
		{accept: "application/cbor", rules: on, want: wire.CBOR},
		{accept: "application/cbor", rules: off, fails: true},
		{accept: "application/json;q=0.9,application/cbor;q=1", rules: on, want: wire.CBOR},
		{accept: "application/json;q=0.9,application/cbor;q=1", rules: off, want: wire.JSON},
		{accept: "application/*", rules: on, want: wire.JSON},
		{accept: "application/cbor", rules: on, stream: true, want: wire.CBOR},
		{accept: "application/cbor-seq", rules: on, stream: true, want: wire.CBOR},
		{accept: "application/cbor-seq", rules: on, fails: true},
		{accept: "application/cbor-seq", rules: off, stream: true, fails: true},
		{accept: "application/cbor", rules: Rules{CBOR: true}, want: wire.CBOR},
	}
	for _, tt := range tests {
		negotiate := Negotiate
		if tt.stream {
			negotiate = NegotiateStream
		}
		o, err := negotiate(get(tt.accept), tt.rules)
		if apierrors.IsNotAcceptable(err) != tt.fails || (err == nil && o.MediaType != tt.want) {
			t.Errorf("%s of %+v: %+v, %v", tt.accept, tt.rules, o, err)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("Content-Type", "application/cbor")
	if mt, err := NegotiateInput(r, on); err != nil || mt != wire.CBOR {
		t.Errorf("a body: %v, %v", mt, err)
	}
}

func TestAcceptsGzip(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "identity": false, "gzip": true, "GZIP": true, "deflate, gzip": true, "deflate,gzip ; q=0.5": true, "gzip;q=1": true,
		"gzip;q=0": false, "gzip;q=0.000, deflate": false, "gzipped": false, "*": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", header)
		if got := AcceptsGzip(r); got != want {
			t.Errorf("%q: %t", header, got)
		}
	}
}
