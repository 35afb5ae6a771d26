package schema

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"triplane.dev/internal/pattern"
)

// Validator validates values by an OpenAPI schema.
type Validator struct {
	schema  *spec.Schema
	openapi *validate.SchemaValidator
	// longText is the length from which on a string can take long to match a pattern of the schema.
	longText int
}

// NewValidator compiles a schema. Formats that mean nothing for their types are left out.
func NewValidator(props *apiextensionsv1.JSONSchemaProps) (*Validator, error) {
	return newValidator(props, func(s *spec.Schema) {
		if s.Extensions["x-kubernetes-int-or-string"] == true {
			s.Type = spec.StringOrArray{"integer", "string"} // whatever type it has besides
		}
		var typ string
		if len(s.Type) == 1 {
			typ = s.Type[0]
		}
		if !KnownFormat(typ, s.Format) {
			s.Format = ""
		}
		s.Description = "" // most of the text
	})
}

// longestPattern returns the length of the longest pattern in a schema.
func longestPattern(props *apiextensionsv1.JSONSchemaProps) (n int) {
	Walk(props, func(p *apiextensionsv1.JSONSchemaProps) { n = max(n, len(p.Pattern)) })
	return n
}

func newValidator(props *apiextensionsv1.JSONSchemaProps, edit func(*spec.Schema)) (*Validator, error) {
	s, err := ToOpenAPI(props, edit)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return &Validator{}, nil
	}
	return &Validator{schema: s, openapi: validate.NewSchemaValidator(s, nil, "", strfmt.Default),
		longText: pattern.Limit(longestPattern(props))}, nil
}

// Of returns the validator of a property's values, nil where the schema does not name it.
func (v *Validator) Of(property string) *Validator {
	if v.schema == nil {
		return nil
	}
	s, ok := v.schema.Properties[property]
	if !ok {
		return nil
	}
	return &Validator{schema: &s, openapi: validate.NewSchemaValidator(&s, nil, "", strfmt.Default), longText: v.longText}
}

// Validate returns what is wrong with a value at the path, or that ctx ended before it was known.
func (v *Validator) Validate(ctx context.Context, path *field.Path, value any) field.ErrorList {
	if v.openapi == nil {
		return nil
	}
	if left := fewValues; few(value, &left, v.longText) {
		return fieldErrors(path, v.openapi.Validate(value))
	}
	return (&runNode{run: &run{ctx: ctx, formats: strfmt.Default}, schema: v.schema}).validate(path, value)
}

func fieldErrors(path *field.Path, result *validate.Result) field.ErrorList {
	if result.IsValid() {
		return nil
	}
	errs := make(field.ErrorList, 0, len(result.Errors))
	for _, err := range result.Errors {
		errs = append(errs, toFieldError(path, err))
	}
	// The validator takes the properties of an object in any order. An error without a field follows those that it is
	// about.
	for begin, end := 0, 0; begin < len(errs); begin = end + 1 {
		for end = begin; end < len(errs) && errs[end].Field != noField; end++ {
		}
		slices.SortStableFunc(errs[begin:end], func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	}
	return errs
}

// noField is the field of an error without one.
var noField = (*field.Path)(nil).String()

// toFieldError says a finding of the OpenAPI validator in the API's own terms.
func toFieldError(path *field.Path, err error) *field.Error {
	var e *openapierrors.Validation
	if !errors.As(err, &e) {
		return field.Invalid(path, "", err.Error())
	}
	if e.Name != "" && e.Name != "." {
		path = path.Child(strings.TrimPrefix(e.Name, "."))
	}
	value := e.Value
	if value == nil {
		value = ""
	}
	switch e.Code() {
	case openapierrors.RequiredFailCode:
		return field.Required(path, "")
	case openapierrors.EnumFailCode:
		return field.NotSupported(path, e.Value, enumNames(e.Values))
	case openapierrors.TooLongFailCode:
		return field.TooLong(path, value, int(count(e.Valid)))
	case openapierrors.MaxItemsFailCode, openapierrors.TooManyPropertiesCode:
		return field.TooMany(path, int(count(e.Value)), int(count(e.Valid)))
	case openapierrors.InvalidTypeCode:
		return field.TypeInvalid(path, value, e.Error())
	}
	return field.Invalid(path, value, e.Error())
}

func count(v any) int64 {
	if n, ok := v.(int64); ok {
		return n
	}
	return -1
}

func enumNames(values []any) []string {
	names := make([]string, 0, len(values))
	for _, v := range values {
		if s, ok := v.(string); ok {
			names = append(names, s)
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			continue
		}
		names = append(names, string(b))
	}
	return names
}
