package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// DefaultRules validates a default at the path by the CEL rules of its schema.
type DefaultRules func(ctx context.Context, path *field.Path, s *Schema, value any) field.ErrorList

// CheckDefaults validates the defaults of a structural schema: each must be valid
// by the schema that it stands in, rules included, and have no fields that would be
// pruned. rules may be nil.
func CheckDefaults(ctx context.Context, path *field.Path, s *Schema, rules DefaultRules) (field.ErrorList, error) {
	if s == nil {
		return nil, nil
	}
	root := *s
	root.Embedded, root.embeds = true, true
	c := &defaultsCheck{ctx: ctx, rules: rules}
	err := c.node(path, &root, inResource{resource: &root})
	return c.errs, err
}

// DropEmptyItems removes "items" that are neither a schema nor a list of some from a schema and all within it.
func DropEmptyItems(p *apiextensionsv1.JSONSchemaProps) {
	if p == nil || !hasEmptyItems(p) {
		return
	}
	if p.Items != nil && p.Items.Schema == nil && len(p.Items.JSONSchemas) == 0 {
		p.Items = nil
	}
	if p.Items != nil {
		DropEmptyItems(p.Items.Schema)
	}
	if p.AdditionalProperties != nil {
		DropEmptyItems(p.AdditionalProperties.Schema)
	}
	for name, property := range p.Properties {
		DropEmptyItems(&property)
		p.Properties[name] = property
	}
	for _, list := range [][]apiextensionsv1.JSONSchemaProps{p.AllOf, p.AnyOf, p.OneOf} {
		for i := range list {
			DropEmptyItems(&list[i])
		}
	}
	DropEmptyItems(p.Not)
}

func hasEmptyItems(p *apiextensionsv1.JSONSchemaProps) (found bool) {
	Walk(p, func(p *apiextensionsv1.JSONSchemaProps) {
		found = found || p.Items != nil && p.Items.Schema == nil && len(p.Items.JSONSchemas) == 0
	})
	return found
}

// TidyDefaults brings the metadata of embedded resources in the defaults of a schema into the form of
// ObjectMeta. Schemas that are not structural, and metadata of wrong types, are left to validation.
func TidyDefaults(props *apiextensionsv1.JSONSchemaProps) {
	embeds, defaults := false, false
	Walk(props, func(p *apiextensionsv1.JSONSchemaProps) {
		embeds, defaults = embeds || p.XEmbeddedResource, defaults || p.Default != nil
	})
	if !embeds || !defaults {
		return
	}
	if s, err := New(props); err == nil {
		s.tidyDefaults(props)
	}
}

// tidyDefaults is TidyDefaults of what s was made from.
func (s *Schema) tidyDefaults(props *apiextensionsv1.JSONSchemaProps) {
	if s == nil || !s.defaults && !s.HasDefault {
		return
	}
	for name, p := range props.Properties {
		s.Properties[name].tidyDefaults(&p)
		props.Properties[name] = p
	}
	if s.Items != nil {
		s.Items.tidyDefaults(props.Items.Schema)
	}
	if s.Additional != nil {
		s.Additional.tidyDefaults(props.AdditionalProperties.Schema)
	}
	if !s.HasDefault || !s.embeds {
		return
	}
	tidy, c := runtime.DeepCopyJSONValue(s.Default), coercer{}
	c.value(nil, tidy, s)
	if c.err != nil || reflect.DeepEqual(tidy, s.Default) {
		return
	}
	if raw, err := json.Marshal(tidy); err == nil {
		props.Default = &apiextensionsv1.JSON{Raw: raw}
	}
}

type defaultsCheck struct {
	ctx   context.Context
	rules DefaultRules
	errs  field.ErrorList
}

// inResource is the place of a schema in the resource around it, which may be an
// embedded one.
type inResource struct {
	resource *Schema
	// meta says that the place is in kind, apiVersion or metadata, and around makes
	// the resource of which a value is there.
	meta   bool
	around func(value any) map[string]any
}

// down is the place of a property, of an item where name is "".
func (in inResource) down(parent *Schema, name string) inResource {
	next := in
	next.meta = in.meta || parent.Embedded && isMetaField(name)
	if !next.meta {
		return next
	}
	next.around = func(value any) map[string]any {
		switch {
		case !in.meta:
			resource := map[string]any{"apiVersion": "validation/v1", "kind": "Validation"}
			resource[name] = value
			return resource
		case name == "":
			return in.around([]any{value})
		}
		return in.around(map[string]any{name: value})
	}
	return next
}

func (c *defaultsCheck) node(path *field.Path, s *Schema, in inResource) error {
	if s == nil || !s.defaults && !s.HasDefault {
		return nil
	}
	if s.Embedded {
		in = inResource{resource: s}
	}
	if s.HasDefault {
		if err := c.value(path.Child("default"), s, in); err != nil {
			return err
		}
	}
	if err := c.node(path.Child("items"), s.Items, in.down(s, "")); err != nil {
		return err
	}
	for name, p := range s.Properties {
		if err := c.node(path.Child("properties").Key(name), p, in.down(s, name)); err != nil {
			return err
		}
	}
	return nil
}

func (c *defaultsCheck) value(path *field.Path, s *Schema, in inResource) error {
	if !in.meta {
		kept := runtime.DeepCopyJSONValue(s.Default)
		(&pruner{}).value(kept, s)
		if !reflect.DeepEqual(kept, s.Default) {
			c.errs = append(c.errs, field.Invalid(path, s.Default, "must not have unknown fields"))
		}
	}
	if errs := defaultMetadata(path, s, in); len(errs) > 0 {
		c.errs = append(c.errs, errs...)
		return nil
	}
	v, err := newValidator(s.Props, anyIntOrString)
	if err != nil {
		return err
	}
	errs := v.Validate(c.ctx, path, s.Default)
	if len(errs) == 0 && c.rules != nil {
		errs = c.rules(c.ctx, path, s, s.Default)
	}
	c.errs = append(c.errs, errs...)
	return nil
}

// anyIntOrString takes the types from an int-or-string, whose default may be of any.
func anyIntOrString(s *spec.Schema) {
	if is, _ := s.Extensions.GetBool("x-kubernetes-int-or-string"); is {
		s.Type = nil
	}
}

// defaultMetadata validates the metadata that a default results in: that of embedded
// resources in it, or that of the resource around it.
func defaultMetadata(at *field.Path, of *Schema, in inResource) field.ErrorList {
	path, s := at, of
	value := runtime.DeepCopyJSONValue(s.Default)
	if in.meta {
		path, s, value = nil, in.resource, in.around(value)
	}
	c := coercer{}
	if in.meta {
		c.resource(path, value.(map[string]any))
	}
	c.value(path, value, s)
	errs := field.ErrorList{c.err}
	if c.err == nil {
		errs = validateNested(path, value, s)
	}
	if in.meta && len(errs) > 0 {
		return field.ErrorList{field.Invalid(at, of.Default, fmt.Sprintf("must result in valid metadata: %v",
			errs.ToAggregate()))}
	}
	return errs
}
