package schema

import (
	"encoding/json"
	"reflect"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestRepairMetadata reads objects that no request of this server can have written.
func TestRepairMetadata(t *testing.T) {
	p := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal([]byte(`{"type":"object","properties":{"e":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}`), p); err != nil {
		t.Fatal(err)
	}
	s, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	for stored, want := range map[string]string{
		`{"metadata":{"name":"a","unspecified":true,"labels":{"b":"c"}}}`:               `{"metadata":{"name":"a","labels":{"b":"c"}}}`,
		`{"metadata":{"name":"a","labels":{"b":3,"c":"d"},"finalizers":"x","uid":"u"}}`: `{"metadata":{"name":"a","uid":"u"}}`,
		`{"metadata":"a"}`: `{"metadata":{}}`,
		`{"metadata":{"name":"a"},"e":{"kind":1,"apiVersion":"v1","metadata":{"name":true,"generateName":"x","more":{}},"z":null}}`: `{"metadata":{"name":"a"},"e":{"apiVersion":"v1","metadata":{"generateName":"x"},"z":null}}`,
		`{"metadata":{"name":"a"},"e":{"metadata":[1]}}`: `{"metadata":{"name":"a"},"e":{"metadata":{}}}`,
	} {
		var got, wanted map[string]any
		if err := json.Unmarshal([]byte(stored), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		if RepairMetadata(got, s); !reflect.DeepEqual(got, wanted) {
			t.Errorf("%s became %v, want %v", stored, got, wanted)
		}
	}
}

// TestEmbeddedHead says what is wrong with the kind of an embedded resource.
func TestEmbeddedHead(t *testing.T) {
	yes := true
	s, err := New(&apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"e": {Type: "object", XEmbeddedResource: true, XPreserveUnknownFields: &yes},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{
		`{"apiVersion":"v1","kind":"Pod"}`:  "",
		`{"apiVersion":null,"kind":"Pod"}`:  "e.apiVersion: Invalid value: null: must be a string",
		`{"apiVersion":"v1","kind":5}`:      "e.kind: Invalid value: 5: must be a string",
		`{"apiVersion":"","kind":"Pod"}`:    `e.apiVersion: Invalid value: "": must not be empty`,
		`{"apiVersion":"v1"}`:               "e.kind: Required value",
		`{"apiVersion":"a/b/c","kind":"X"}`: `e.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`,
	} {
		var e map[string]any
		if err := json.Unmarshal([]byte(content), &e); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := ValidateMetadata(nil, map[string]any{"e": e}, s).ToAggregate(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", content, got, want)
		}
	}
}
