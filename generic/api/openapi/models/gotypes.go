package models

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Describe adds the models of Go types that are not built in: those of samples, and of all
// that their fields refer to. It is called before the first use of the source.
//
// A model follows from the Go type as those of Kubernetes do: the tag "json" names fields, and
// those without omitempty are required. "listType" (atomic, set, map) and "listMapKey" say how lists are
// merged by server-side apply; where they are missing, "patchStrategy" and "patchMergeKey" do. "doc"
// is the description of a field; a type with a method SwaggerDoc has its descriptions there.
func (s *Source) Describe(samples ...any) error {
	known, err := s.Models()
	if err != nil {
		return err
	}
	d := describer{known: known, own: map[string]entry{}}
	for _, sample := range samples {
		if _, err := d.reference(reflect.TypeOf(sample)); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own == nil {
		s.own = map[string]entry{}
	}
	maps.Copy(s.own, d.own)
	maps.Copy(known.entries, d.own)
	return nil
}

// Name is how documents call the model of a Go type's canonical name: a path is turned round,
// "example.com/forest/v1.Tree" is com.example.forest.v1.Tree.
func Name(canonical string) string {
	if strings.Contains(canonical, "/") {
		return util.ToRESTFriendlyName(canonical)
	}
	return canonical
}

// describer makes models of Go types.
type describer struct {
	known *Models
	own   map[string]entry
}

// reference returns the name of the model of a struct, which is made if there is none yet.
func (d *describer) reference(t reflect.Type) (string, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := util.GetCanonicalTypeName(reflect.New(t).Interface())
	if _, ok := d.own[name]; ok || d.known.Has(name) {
		return name, nil
	}
	d.own[name] = entry{} // types may refer to themselves
	schema, needs := spec.Schema{}, map[string]bool{}
	if err := d.object(t, &schema, needs); err != nil {
		return "", fmt.Errorf("OpenAPI model of %s: %w", t, err)
	}
	schema.Description = documented(t)[""]
	raw, err := json.Marshal(&schema)
	if err != nil {
		return "", err
	}
	d.own[name] = entry{Schema: raw, Dependencies: slices.Sorted(maps.Keys(needs))}
	return name, nil
}

// object describes the fields of a struct.
func (d *describer) object(t reflect.Type, into *spec.Schema, needs map[string]bool) error {
	into.Type = spec.StringOrArray{"object"}
	if into.Properties == nil {
		into.Properties = map[string]spec.Schema{}
	}
	docs := documented(t)
	for i := range t.NumField() {
		f := t.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "":
			if err := d.object(indirect(f.Type), into, needs); err != nil {
				return err
			}
			continue
		case name == "":
			name = f.Name
		}
		property, err := d.property(f, needs)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		optional := strings.Contains(rest, "omitempty") || strings.Contains(rest, "omitzero")
		property.Default = defaultOf(f.Type, optional)
		property.Description = f.Tag.Get("doc")
		if property.Description == "" {
			property.Description = docs[name]
		}
		into.Properties[name] = property
		if !optional {
			into.Required = append(into.Required, name)
		}
	}
	return nil
}

func (d *describer) property(f reflect.StructField, needs map[string]bool) (spec.Schema, error) {
	property, err := d.schema(f.Type, needs)
	strategy, mergeKey := f.Tag.Get("patchStrategy"), f.Tag.Get("patchMergeKey")
	list, key := f.Tag.Get("listType"), f.Tag.Get("listMapKey")
	if list == "" && f.Type.Kind() == reflect.Slice && strings.Contains(strategy, "merge") {
		if list, key = "set", mergeKey; key != "" {
			list = "map"
		}
	}
	for extension, value := range map[string]string{
		"x-kubernetes-patch-strategy": strategy, "x-kubernetes-patch-merge-key": mergeKey, "x-kubernetes-list-type": list,
	} {
		if value != "" {
			property.AddExtension(extension, value)
		}
	}
	if key != "" {
		property.AddExtension("x-kubernetes-list-map-keys", []any{key})
	}
	return property, err
}

// schema describes a value. A type that encodes itself may be anything.
func (d *describer) schema(t reflect.Type, needs map[string]bool) (s spec.Schema, err error) {
	t = indirect(t)
	if typed, ok := reflect.New(t).Interface().(interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}); ok && t.Kind() != reflect.Struct {
		s.Type, s.Format = typed.OpenAPISchemaType(), typed.OpenAPISchemaFormat()
		return s, nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return d.structure(t, needs)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return *spec.StrFmtProperty("byte"), nil
		}
		items, err := d.schema(t.Elem(), needs)
		return *spec.ArrayProperty(&items), err
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return s, fmt.Errorf("the keys of %s are no strings", t)
		}
		values, err := d.schema(t.Elem(), needs)
		return *spec.MapProperty(&values), err
	case reflect.Interface:
		s.AddExtension("x-kubernetes-preserve-unknown-fields", true)
		return s, nil
	}
	kind, format := common.OpenAPITypeFormat(t.Kind().String())
	if kind == "" {
		return s, fmt.Errorf("a %s cannot be described", t)
	}
	s.Type, s.Format = spec.StringOrArray{kind}, format
	return s, nil
}

// structure refers to the model of a struct, or describes one without a name in place.
func (d *describer) structure(t reflect.Type, needs map[string]bool) (s spec.Schema, err error) {
	if t.Name() == "" {
		err = d.object(t, &s, needs)
		return s, err
	}
	if !d.known.Has(util.GetCanonicalTypeName(reflect.New(t).Interface())) && encodesItself(t) {
		s.AddExtension("x-kubernetes-preserve-unknown-fields", true)
		return s, nil
	}
	name, err := d.reference(t)
	if err != nil {
		return s, err
	}
	needs[name] = true
	return spec.Schema{SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef("@" + Name(name))}}, nil
}

// defaultOf is what stands for a field that is left out: a struct is always there, and so is
// what is not optional.
func defaultOf(t reflect.Type, optional bool) any {
	switch {
	case t.Kind() == reflect.Struct && !encodesItself(t):
		return map[string]any{}
	case optional || t.Kind() == reflect.Struct:
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Array:
		return nil
	}
	return reflect.Zero(t).Interface()
}

func encodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())
}

// documented are the descriptions that a type brings, by the name of the field; "" is its own.
func documented(t reflect.Type) map[string]string {
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && describesItself(indirect(f.Type)) {
			return nil // the method may be promoted
		}
	}
	if d, ok := reflect.New(t).Interface().(selfDescribing); ok {
		return d.SwaggerDoc()
	}
	return nil
}

type selfDescribing interface{ SwaggerDoc() map[string]string }

func describesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[selfDescribing]())
}

func indirect(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
