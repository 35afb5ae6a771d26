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
// what may be an object by it: what is complete needs no defaults and what is pruned no
// pruning, a naive walk of the schema finds no field that it has no place for, and
// nothing panics.
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
		twice := runtime.DeepCopyJSON(v)
		if Default(twice, s); !reflect.DeepEqual(twice, v) {
			t.Errorf("completed again: %v of %v", twice, v)
		}
		Prune(v, s, true)
		p.XEmbeddedResource = true
		if name := unknown(v, p); name != "" {
			t.Errorf("%s is left of %v", name, v)
		}
		p.XEmbeddedResource = false
		again := runtime.DeepCopyJSON(v)
		if dropped := Prune(again, s, true); len(dropped) > 0 || !reflect.DeepEqual(again, v) {
			t.Errorf("pruned again: %v, %v of %v", dropped, again, v)
		}
		ValidateLists(nil, s, v)
		ValidateMetadata(nil, v, s)
		if validator, err := NewValidator(p); err == nil {
			validator.Validate(t.Context(), nil, v)
		}
	})
}

// unknown names a field of a value that its schema has no place for, "" where there is
// none. What is below fields that are kept as they are is not looked at.
func unknown(v any, p *apiextensionsv1.JSONSchemaProps) string {
	if p.XPreserveUnknownFields != nil && *p.XPreserveUnknownFields {
		return ""
	}
	switch x := v.(type) {
	case map[string]any:
		for name, each := range x {
			child, known := p.Properties[name]
			switch {
			case p.XEmbeddedResource && (name == "apiVersion" || name == "kind" || name == "metadata"):
				continue
			case known:
			case p.AdditionalProperties == nil || p.AdditionalProperties.Schema == nil && !p.AdditionalProperties.Allows:
				return name
			case p.AdditionalProperties.Schema == nil:
				continue
			default:
				child = *p.AdditionalProperties.Schema
			}
			if found := unknown(each, &child); found != "" {
				return name + "." + found
			}
		}
	case []any:
		if p.Items == nil || p.Items.Schema == nil {
			return ""
		}
		for _, each := range x {
			if found := unknown(each, p.Items.Schema); found != "" {
				return found
			}
		}
	}
	return ""
}
