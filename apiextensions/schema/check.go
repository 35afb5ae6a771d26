package schema

import (
	"fmt"
	"reflect"
	"regexp"
	"sort"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type level int

const (
	atRoot level = iota
	atItem
	atField
)

// Check returns what keeps a schema from being structural, sorted by message.
func Check(path *field.Path, s *Schema) field.ErrorList {
	errs := checkNode(path, s, atRoot)
	if s != nil {
		errs = append(errs, checkNamed(path, s, path, s.Props)...)
	}
	sort.SliceStable(errs, func(i, j int) bool { return errs[i].Error() < errs[j].Error() })
	return errs
}

func checkNode(path *field.Path, s *Schema, lvl level) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	errs = append(errs, checkNode(path.Child("items"), s.Items, atItem)...)
	for name, p := range s.Properties {
		errs = append(errs, checkNode(path.Child("properties").Key(name), p, atField)...)
	}
	if s.Additional != nil {
		errs = append(errs, checkNode(path.Child("additionalProperties"), s.Additional, atField)...)
	}
	errs = append(errs, checkType(path, s, lvl)...)
	errs = append(errs, checkExtensions(path, s, lvl)...)
	errs = append(errs, checkLogic(path, s.Props, 2)...)
	if lvl == atRoot || s.Embedded {
		errs = append(errs, checkMeta(path, s, lvl)...)
	}
	return errs
}

func checkType(path *field.Path, s *Schema, lvl level) field.ErrorList {
	var errs field.ErrorList
	typ := path.Child("type")
	switch {
	case s.Embedded && s.Type != "object":
		const must = "must be object if x-kubernetes-embedded-resource is true"
		if s.Type == "" {
			errs = append(errs, field.Required(typ, must))
		} else {
			errs = append(errs, field.Invalid(typ, s.Type, must))
		}
	case s.Type == "" && !s.IntOrString && !s.Preserve:
		errs = append(errs, field.Required(typ, map[level]string{
			atRoot:  "must not be empty at the root",
			atItem:  "must not be empty for specified array items",
			atField: "must not be empty for specified object fields",
		}[lvl]))
	}
	if lvl == atRoot && s.Type != "" && s.Type != "object" {
		errs = append(errs, field.Invalid(typ, s.Type, "must be object at the root"))
	}
	if s.Type == "array" && s.Items == nil {
		errs = append(errs, field.Required(path.Child("items"), "must be specified"))
	}
	return errs
}

func checkExtensions(path *field.Path, s *Schema, lvl level) field.ErrorList {
	var errs field.ErrorList
	if s.Props.AdditionalProperties != nil {
		if lvl == atRoot {
			errs = append(errs, field.Forbidden(path.Child("additionalProperties"), "must not be used at the root"))
		}
		if s.Embedded {
			errs = append(errs, field.Forbidden(path.Child("additionalProperties"),
				"must not be used if x-kubernetes-embedded-resource is set"))
		}
	}
	if s.IntOrString {
		const must = "must be false if x-kubernetes-int-or-string is true"
		if s.Preserve {
			errs = append(errs, field.Invalid(path.Child("x-kubernetes-preserve-unknown-fields"), true, must))
		}
		if s.Embedded {
			errs = append(errs, field.Invalid(path.Child("x-kubernetes-embedded-resource"), true, must))
		}
	}
	if s.Embedded && !s.Preserve && len(s.Properties) == 0 {
		errs = append(errs, field.Required(path.Child("properties"),
			"must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"))
	}
	return errs
}

// checkNamed returns the properties and items that allOf, anyOf, oneOf or not speak
// of at vPath, but that the schema at sPath does not have.
func checkNamed(sPath *field.Path, s *Schema, vPath *field.Path, v *apiextensionsv1.JSONSchemaProps) field.ErrorList {
	var errs field.ErrorList
	_ = EachLogical(vPath, v, func(p *field.Path, l *apiextensionsv1.JSONSchemaProps) error {
		errs = append(errs, checkNestedNamed(sPath, s, p, l)...)
		return nil
	})
	return errs
}

func checkNestedNamed(sPath *field.Path, s *Schema, vPath *field.Path,
	v *apiextensionsv1.JSONSchemaProps) field.ErrorList {
	if s == nil {
		return field.ErrorList{field.Required(sPath, "because it is defined in "+vPath.String())}
	}
	errs := checkNamed(sPath, s, vPath, v)
	if v.Items != nil && v.Items.Schema != nil {
		errs = append(errs, checkNestedNamed(sPath.Child("items"), s.Items, vPath.Child("items"), v.Items.Schema)...)
	}
	for name := range v.Properties {
		c := v.Properties[name]
		errs = append(errs, checkNestedNamed(sPath.Child("properties").Key(name), s.Properties[name],
			vPath.Child("properties").Key(name), &c)...)
	}
	return errs
}

// EachLogical calls f for the schemas of allOf, anyOf, oneOf and not, until one fails.
func EachLogical(path *field.Path, p *apiextensionsv1.JSONSchemaProps,
	f func(*field.Path, *apiextensionsv1.JSONSchemaProps) error) error {
	for _, l := range []struct {
		name string
		list []apiextensionsv1.JSONSchemaProps
	}{{"allOf", p.AllOf}, {"anyOf", p.AnyOf}, {"oneOf", p.OneOf}} {
		for i := range l.list {
			if err := f(path.Child(l.name).Index(i), &l.list[i]); err != nil {
				return err
			}
		}
	}
	if p.Not != nil {
		return f(path.Child("not"), p.Not)
	}
	return nil
}

// checkMeta holds kind, apiVersion and metadata of a resource to what the API
// itself says of them.
func checkMeta(path *field.Path, s *Schema, lvl level) field.ErrorList {
	var errs field.ErrorList
	for _, name := range []string{"kind", "apiVersion"} {
		if p, ok := s.Properties[name]; ok && p.Type != "string" {
			errs = append(errs, field.Invalid(path.Child("properties").Key(name).Child("type"), p.Type, "must be string"))
		}
	}
	meta, ok := s.Properties["metadata"]
	if !ok {
		return errs
	}
	at := path.Child("properties").Key("metadata")
	if meta.Type != "object" {
		errs = append(errs, field.Invalid(at.Child("type"), meta.Type, "must be object"))
	}
	if lvl == atRoot && !restrictsNameOnly(meta.Props) {
		errs = append(errs, field.Forbidden(at,
			"must not specify anything other than name and generateName, but metadata is implicitly specified"))
	}
	return errs
}

func restrictsNameOnly(meta *apiextensionsv1.JSONSchemaProps) bool {
	for name := range meta.Properties {
		if name != "name" && name != "generateName" {
			return false
		}
	}
	rest := *meta
	rest.Properties, rest.Type, rest.Default = nil, "", nil
	for _, list := range []*[]apiextensionsv1.JSONSchemaProps{&rest.AllOf, &rest.AnyOf, &rest.OneOf} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	if len(rest.Enum) == 0 {
		rest.Enum = nil
	}
	return IsZero(&rest)
}

func isIntOrStringAnyOf(anyOf []apiextensionsv1.JSONSchemaProps) bool {
	if len(anyOf) != 2 || anyOf[0].Type != "integer" || anyOf[1].Type != "string" {
		return false
	}
	a, b := anyOf[0], anyOf[1]
	a.Type, b.Type = "", ""
	return IsZero(&a) && IsZero(&b)
}

// checkLogic looks at allOf, anyOf, oneOf and not, which may only validate values. The two
// types of an int-or-string may be said in the anyOf of a schema, and in that of the first of
// its allOf: alternatives is how many levels down that may still be.
func checkLogic(path *field.Path, p *apiextensionsv1.JSONSchemaProps, alternatives int) field.ErrorList {
	var errs field.ErrorList
	if alternatives == 0 || !isIntOrStringAnyOf(p.AnyOf) {
		for i := range p.AnyOf {
			errs = append(errs, checkNested(path.Child("anyOf").Index(i), &p.AnyOf[i], 0)...)
		}
	}
	for i := range p.AllOf {
		inner := 0
		if i == 0 {
			inner = max(alternatives-1, 0)
		}
		errs = append(errs, checkNested(path.Child("allOf").Index(i), &p.AllOf[i], inner)...)
	}
	for i := range p.OneOf {
		errs = append(errs, checkNested(path.Child("oneOf").Index(i), &p.OneOf[i], 0)...)
	}
	if p.Not != nil {
		errs = append(errs, checkNested(path.Child("not"), p.Not, 0)...)
	}
	if p.Pattern != "" {
		if _, err := regexp.Compile(p.Pattern); err != nil {
			errs = append(errs, field.Invalid(path.Child("pattern"), p.Pattern,
				fmt.Sprintf("must be a valid regular expression, but isn't: %v", err)))
		}
	}
	return errs
}

func checkNested(path *field.Path, p *apiextensionsv1.JSONSchemaProps, alternatives int) field.ErrorList {
	errs := checkLogic(path, p, alternatives)
	if p.Items != nil && p.Items.Schema != nil {
		errs = append(errs, checkNested(path.Child("items"), p.Items.Schema, 0)...)
	}
	for name := range p.Properties {
		c := p.Properties[name]
		errs = append(errs, checkNested(path.Child("properties").Key(name), &c, 0)...)
	}
	forbid := func(bad bool, name, must string) {
		if bad {
			errs = append(errs, field.Forbidden(path.Child(name), "must be "+must+" to be structural"))
		}
	}
	forbid(p.Type != "", "type", "empty")
	forbid(p.AdditionalProperties != nil && (p.AdditionalProperties.Allows || p.AdditionalProperties.Schema != nil),
		"additionalProperties", "undefined")
	forbid(p.Default != nil, "default", "undefined")
	forbid(p.Title != "", "title", "empty")
	forbid(p.Description != "", "description", "empty")
	forbid(p.Nullable, "nullable", "false")
	forbid(p.XPreserveUnknownFields != nil && *p.XPreserveUnknownFields, "x-kubernetes-preserve-unknown-fields", "false")
	forbid(p.XEmbeddedResource, "x-kubernetes-embedded-resource", "false")
	forbid(p.XIntOrString, "x-kubernetes-int-or-string", "false")
	forbid(p.XListType != nil, "x-kubernetes-list-type", "undefined")
	forbid(len(p.XListMapKeys) > 0, "x-kubernetes-list-map-keys", "empty")
	forbid(p.XMapType != nil, "x-kubernetes-map-type", "undefined")
	forbid(len(p.XValidations) > 0, "x-kubernetes-validations", "empty")
	if _, found := p.Properties["metadata"]; found {
		errs = append(errs, field.Forbidden(path.Child("properties").Key("metadata"),
			"must not be specified in a nested context"))
	}
	return errs
}

// IsZero reports whether a schema says nothing.
func IsZero(p *apiextensionsv1.JSONSchemaProps) bool {
	return reflect.ValueOf(p).Elem().IsZero()
}
