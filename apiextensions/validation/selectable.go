package validation

import (
	"errors"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/apiextensions/schema"
)

// maxSelectableFields bounds the fields that selectors may name.
const maxSelectableFields = 8

// validateSelectable validates the selectable fields of a version. noSchema is the error if it has no schema.
func validateSelectable(version *apiextensionsv1.CustomResourceDefinitionVersion, noSchema string,
	path *field.Path) field.ErrorList {
	if len(version.SelectableFields) == 0 {
		return nil
	}
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return field.ErrorList{field.Invalid(path, "", noSchema)}
	}
	var errs field.ErrorList
	root, _ := schema.New(version.Schema.OpenAPIV3Schema)
	seen := sets.New[string]()
	for i := range version.SelectableFields {
		at, p := path.Index(i).Child("jsonPath"), version.SelectableFields[i].JSONPath
		if p == "" {
			errs = append(errs, field.Required(at, ""))
			continue
		}
		names, err := schema.ParseFieldPath(p)
		if strings.Contains(p, "['") { // rules may name fields so, selectors may not
			err = errors.New("array notation is not allowed")
		}
		if err != nil {
			errs = append(errs, field.Invalid(at, p, "is an invalid path: "+err.Error()))
			continue
		}
		s := root
		if len(names) > 0 && !declares(version, names[0]) {
			s = nil
		}
		if s = s.At(names); s == nil {
			errs = append(errs, field.Invalid(at, p, "is an invalid path: does not refer to a valid field"))
			continue
		}
		if len(names) > 0 && names[0] == "metadata" {
			errs = append(errs, field.Invalid(at, p, "must not point to fields in metadata"))
		}
		if s.IntOrString || s.Type != "string" && s.Type != "boolean" && s.Type != "integer" {
			errs = append(errs, field.Invalid(at, p,
				"must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."))
			continue
		}
		if seen.Has(p) {
			errs = append(errs, field.Duplicate(at, p))
		}
		seen.Insert(p)
	}
	if n := len(seen); n > maxSelectableFields {
		errs = append(errs, field.TooMany(path, n, maxSelectableFields))
	}
	return errs
}

// declares reports whether the schema itself has a property of the root. It need not have those of all objects, such as
// kind.
func declares(version *apiextensionsv1.CustomResourceDefinitionVersion, name string) bool {
	_, ok := version.Schema.OpenAPIV3Schema.Properties[name]
	return ok
}
