package schema

import (
	"encoding/json"
	"reflect"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kjson "sigs.k8s.io/json"
)

// TestPlainMetadata holds what is left as it is against the way through
// ObjectMeta.
func TestPlainMetadata(t *testing.T) {
	for text, plain := range map[string]bool{
		`{"name":"a","namespace":"b","labels":{"x":""},"generation":3}`:                                                                        true,
		`{"creationTimestamp":"2026-01-01T10:00:00Z","uid":"u","finalizers":["a"]}`:                                                            true,
		`{"managedFields":[{"manager":"m","operation":"Update","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}},"time":"2026-01-01T10:00:00Z"}]}`: true,
		`{"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"u","controller":false}]}`:                                         true,
		`{"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n"}]}`:                                                                      false,
		`{"creationTimestamp":null}`:                        false,
		`{"creationTimestamp":"2026-01-01T10:00:00+00:00"}`: false,
		`{"creationTimestamp":"2026-01-01T10:00:00.5Z"}`:    false,
		`{"generation":0}`:                                  false,
		`{"generation":1.5}`:                                false,
		`{"finalizers":[]}`:                                 false,
		`{"name":""}`:                                       false,
		`{"unknown":"x"}`:                                   false,
		`{"labels":{"a":1}}`:                                false,
		`{"managedFields":[{"manager":""}]}`:                false,
		`{"deletionTimestamp":"2026-01-01T10:00:00Z","deletionGracePeriodSeconds":0}`: true,
	} {
		var v any
		if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if got := isPlainMetadata(v); got != plain {
			t.Errorf("%s: plain is %v", text, got)
		}
		if !plain {
			continue
		}
		through, unknown, err := readMetadata(v, true)
		if err != nil || len(unknown) > 0 || !reflect.DeepEqual(any(through), v) {
			t.Errorf("%s became %v (%v, %v)", text, through, unknown, err)
		}
	}
}

// A scalar is no schema for items, at any depth; a schema and a list of some are.
func TestDropEmptyItems(t *testing.T) {
	var p apiextensionsv1.JSONSchemaProps
	const given = `{"items":"x","properties":{"a":{"type":"array","items":{"type":"string"}},` +
		`"b":{"items":5,"not":{"items":true}},"c":{"items":[{"items":"y"}]}}}`
	if err := json.Unmarshal([]byte(given), &p); err != nil {
		t.Fatal(err)
	}
	DropEmptyItems(&p)
	got, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"properties":{"a":{"type":"array","items":{"type":"string"}},` +
		`"b":{"not":{}},"c":{"items":[{"items":null}]}}}`
	if string(got) != want {
		t.Errorf("%s", got)
	}
}
