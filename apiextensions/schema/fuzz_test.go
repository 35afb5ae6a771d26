package schema

import (
	"encoding/json"
	"reflect"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// FuzzSchema compiles what may be a schema, and completes, prunes and validates
// what may be an object by it: what is pruned needs no pruning, nothing panics.
func FuzzSchema(f *testing.F) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"string","default":"x"},"l":{"type":"array","items":{"type":"object","properties":{"k":{"type":"string"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"]}}}`,
		`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"e":{"type":"object","x-kubernetes-embedded-resource":true}}}`,
		`{"type":"object","additionalProperties":{"type":"integer","nullable":true,"minimum":1},"maxProperties":2}`,
		`{"type":"object","properties":{"i":{"x-kubernetes-int-or-string":true}},"not":{"required":["i"]},"oneOf":[{"required":["i"]}]}`,
		`{"type":"object","properties":{"p":{"type":"string","pattern":"("}}}`, `{"type":"array"}`, `{}`,
	} {
		for _, object := range []string{`{"a":1,"b":{"c":null},"l":[{"k":"a","z":1},{"k":"a"}],"e":{"metadata":1,"x":[]},"i":"1"}`, `{"metadata":{"name":1},"p":"x","l":null}`, `{}`} {
			f.Add([]byte(schema), []byte(object))
		}
	}
	f.Fuzz(func(t *testing.T, schema, object []byte) {
		p := &apiextensionsv1.JSONSchemaProps{}
		var v map[string]any
		if json.Unmarshal(schema, p) != nil || len(object) > 1<<16 {
			return
		}
		if decoded, err := decode(object); err == nil {
			v, _ = decoded.(map[string]any)
		}
		s, err := New(p)
		if err != nil || v == nil || len(Check(field.NewPath("schema"), s)) > 0 {
			return
		}
		Default(v, s)
		Prune(v, s, true)
		again := runtime.DeepCopyJSON(v)
		if dropped := Prune(again, s, true); len(dropped) > 0 || !reflect.DeepEqual(again, v) {
			t.Errorf("pruned again: %v, %v of %v", dropped, again, v)
		}
		ValidateLists(nil, s, v)
		ValidateMetadata(nil, v, s)
		if validator, err := NewValidator(p); err == nil {
			validator.Validate(nil, v)
		}
	})
}
