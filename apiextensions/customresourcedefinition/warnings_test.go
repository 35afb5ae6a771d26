package customresourcedefinition

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// A format may be known for one type and not for another.
func TestFormatsThatBecomeUnknown(t *testing.T) {
	with := func(typ, format string) Object {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1",
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"a": {Type: typ, Format: format}}}}}}
		return crd
	}
	warning := []string{`unrecognized format "int32"`}
	for _, c := range []struct {
		name     string
		old, crd Object
		want     []string
	}{
		{"new", nil, with("number", "int32"), warning},
		{"of another type", with("integer", "int32"), with("number", "int32"), warning},
		{"unknown before", with("string", "int32"), with("number", "int32"), nil},
		{"known", with("number", "int32"), with("integer", "int32"), nil},
	} {
		if got := crdWarnings(t.Context(), c.crd, c.old); !slices.Equal(got, c.want) {
			t.Errorf("%s: warnings %q, want %q", c.name, got, c.want)
		}
	}
}
