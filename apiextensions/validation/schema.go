package validation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/apiextensions/schema"
)

// schema validates the schema of a version, or of all. It has to be structural where
// objects are pruned, which preserve says that they are not, and where it has rules.
func (v *Validator) schema(ctx context.Context, cv *apiextensionsv1.CustomResourceValidation, status, preserve bool,
	path *field.Path) field.ErrorList {
	if cv == nil || cv.OpenAPIV3Schema == nil {
		return nil
	}
	props, at := cv.OpenAPIV3Schema, path.Child("openAPIV3Schema")
	var errs field.ErrorList
	if status {
		errs = append(errs, validateStatusRoot(props, path)...)
	}
	if props.Nullable {
		errs = append(errs, field.Forbidden(path.Child("openAPIV3Schema.nullable"), "nullable cannot be true at the root"))
	}
	var structural *schema.Schema
	var unreadable error
	sound := false
	if !preserve || !v.stays.notStructural || hasRules(props) {
		var more field.ErrorList
		structural, more, unreadable = v.structure(ctx, at, props)
		sound = unreadable == nil && len(more) == 0
		errs = append(errs, more...)
	}
	n := nodes{ctx: ctx, stays: v.stays, wrong: map[string]bool{}}
	errs = append(errs, n.validate(at, props, place{root: true})...)
	if unreadable != nil && len(errs) == 0 {
		errs = append(errs, field.Invalid(at, "", unreadable.Error()))
	}
	if sound && v.Rules != nil {
		errs = append(errs, v.Rules(ctx, at, structural, n.isWrong)...)
	}
	if len(errs) == 0 {
		if err := schema.CheckValues(props); err != nil {
			errs = append(errs, field.Invalid(path, "", fmt.Sprintf("error building validator: %v", err)))
		}
	}
	return errs
}

// hasRules reports rules anywhere in a schema, where none may be too.
func hasRules(props *apiextensionsv1.JSONSchemaProps) (found bool) {
	schema.Walk(props, func(p *apiextensionsv1.JSONSchemaProps) { found = found || len(p.XValidations) > 0 })
	return found
}

// structure returns what keeps a schema from being structural, or what is wrong with
// its defaults; unreadable is what a skeleton cannot hold.
func (v *Validator) structure(ctx context.Context, at *field.Path,
	props *apiextensionsv1.JSONSchemaProps) (s *schema.Schema, errs field.ErrorList, unreadable error) {
	if s, unreadable = ReadStructural(props); unreadable != nil {
		return nil, nil, unreadable
	}
	if errs := schema.Check(at, s); len(errs) > 0 {
		return s, errs, nil
	}
	errs, err := schema.CheckDefaults(ctx, at, s, v.DefaultRules)
	if err != nil {
		return s, field.ErrorList{field.Invalid(at, "", fmt.Sprintf("failed to validate defaults: %v", err))}, nil
	}
	return s, errs, nil
}

// ReadStructural reads the skeleton and refuses what it has no place for.
func ReadStructural(props *apiextensionsv1.JSONSchemaProps) (*schema.Schema, error) {
	if err := unsupported(props); err != nil {
		return nil, err
	}
	return schema.New(props)
}

// IsStructural reports whether a schema is: those of old definitions need not be.
func IsStructural(props *apiextensionsv1.JSONSchemaProps) bool {
	s, err := ReadStructural(props)
	return err == nil && len(schema.Check(nil, s)) == 0
}

func unsupported(p *apiextensionsv1.JSONSchemaProps) error {
	for _, f := range []struct {
		set  bool
		name string
	}{
		{p.ID != "", "id"}, {p.Schema != "", "schema"}, {p.Ref != nil, "$ref"},
		{len(p.PatternProperties) > 0, "patternProperties"}, {p.AdditionalItems != nil, "additionalItems"},
		{len(p.Definitions) > 0, "definitions"}, {len(p.Dependencies) > 0, "dependencies"},
	} {
		if f.set {
			return fmt.Errorf("OpenAPIV3Schema '%s' is not supported", f.name)
		}
	}
	if p.XPreserveUnknownFields != nil && !*p.XPreserveUnknownFields {
		return errors.New("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")
	}
	if p.Items != nil && len(p.Items.JSONSchemas) > 0 {
		return errors.New("OpenAPIV3Schema 'items' must be a schema, but is an array")
	}
	return eachChild(nil, p, func(_ *field.Path, c *apiextensionsv1.JSONSchemaProps) error { return unsupported(c) })
}

// eachChild calls f for the schemas within a schema, with their paths. The schemas are good until f returns.
func eachChild(path *field.Path, p *apiextensionsv1.JSONSchemaProps,
	f func(*field.Path, *apiextensionsv1.JSONSchemaProps) error) error {
	if p.Items != nil && p.Items.Schema != nil {
		if err := f(path.Child("items"), p.Items.Schema); err != nil {
			return err
		}
	}
	if p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil {
		if err := f(path.Child("additionalProperties"), p.AdditionalProperties.Schema); err != nil {
			return err
		}
	}
	if err := eachProperty(path, p.Properties, f); err != nil {
		return err
	}
	return schema.EachLogical(path, p, f)
}

func eachProperty(path *field.Path, all map[string]apiextensionsv1.JSONSchemaProps,
	f func(*field.Path, *apiextensionsv1.JSONSchemaProps) error) error {
	if len(all) == 0 {
		return nil
	}
	at := path.Child("properties")
	var c apiextensionsv1.JSONSchemaProps // a single one, as it is large
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c = all[name]
		if err := f(at.Key(name), &c); err != nil {
			return err
		}
	}
	return nil
}

// statusRootFields may stand at the root of a schema whose status is a
// subresource.
var statusRootFields = []string{
	"Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum",
	"MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required",
	"Items", "Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations",
}

func validateStatusRoot(p *apiextensionsv1.JSONSchemaProps, path *field.Path) field.ErrorList {
	rest := *p
	for _, zero := range []func(){
		func() { rest.Description, rest.Type, rest.Format, rest.Title, rest.Pattern = "", "", "", "", "" },
		func() { rest.Maximum, rest.Minimum, rest.MultipleOf = nil, nil, nil },
		func() { rest.ExclusiveMaximum, rest.ExclusiveMinimum, rest.UniqueItems = false, false, false },
		func() { rest.MaxLength, rest.MinLength, rest.MaxItems, rest.MinItems = nil, nil, nil, nil },
		func() { rest.Required, rest.Items, rest.Properties = nil, nil, nil },
		func() {
			rest.ExternalDocs, rest.Example, rest.XPreserveUnknownFields, rest.XValidations = nil, nil, nil, nil
		},
	} {
		zero()
	}
	// What comes first in the order of the fields is said.
	if head := p.ID != "" || p.Schema != "" || p.Ref != nil; !head && p.Type != "" && p.Type != "object" {
		return field.ErrorList{field.Invalid(path.Child("openAPIV3Schema.type"), p.Type,
			`only "object" is allowed as the type at the root of the schema if the status subresource is enabled`)}
	}
	if schema.IsZero(&rest) {
		return nil
	}
	var shown apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(p, &shown, nil); err != nil {
		return field.ErrorList{field.Invalid(path.Child("openAPIV3Schema"), "", err.Error())}
	}
	return field.ErrorList{field.Invalid(path.Child("openAPIV3Schema"), shown, fmt.Sprintf(
		"only %v fields are allowed at the root of the schema if the status subresource is enabled", statusRootFields))}
}

// place is where in the tree a node is.
type place struct {
	root   bool
	inMeta bool
	// noDefaults says why no default may be here, "" where it may.
	noDefaults string
}

// nodes validates the nodes of a schema.
type nodes struct {
	ctx   context.Context //nolint:containedctx // of the request
	stays stays
	// wrong has the paths of nodes with errors at them or below: their rules have no
	// types to be compiled with.
	wrong map[string]bool
}

func (n *nodes) isWrong(path *field.Path) bool { return len(n.wrong) > 0 && n.wrong[path.String()] }

func (n *nodes) validate(path *field.Path, p *apiextensionsv1.JSONSchemaProps, at place) field.ErrorList {
	var errs field.ErrorList
	if !n.stays.otherTypes && !isType(p.Type) {
		errs = append(errs, field.NotSupported(path.Child("type"), p.Type, openAPITypes()))
	}
	errs = append(errs, forbidden(path, p, at)...)
	if a := p.AdditionalProperties; a != nil && len(p.Properties) > 0 && (!a.Allows || a.Schema != nil) {
		errs = append(errs, field.Forbidden(path.Child("additionalProperties"),
			"additionalProperties and properties are mutual exclusive"))
	}
	_ = eachChild(path, p, func(cp *field.Path, c *apiextensionsv1.JSONSchemaProps) error {
		errs = append(errs, n.validate(cp, c, at.down(p, path, cp))...)
		return nil
	})
	errs = append(errs, n.extensions(path, p)...)
	if !n.stays.looseKeys {
		errs = append(errs, validateListMapKeys(path, p)...)
	}
	read := sync.OnceValues(func() (*schema.Schema, error) { return ReadStructural(p) })
	for i := range p.XValidations {
		if n.ctx.Err() != nil {
			return errs
		}
		errs = append(errs, validateRule(path.Child("x-kubernetes-validations").Index(i), read, &p.XValidations[i])...)
	}
	if len(errs) > 0 {
		n.wrong[path.String()] = true
	}
	return errs
}

// down is the context of a child of p.
func (at place) down(p *apiextensionsv1.JSONSchemaProps, path, child *field.Path) place {
	next := place{inMeta: at.inMeta, noDefaults: at.noDefaults}
	if !at.inMeta && !at.root && !p.XEmbeddedResource {
		return next // as nearly all: paths are not spelled out for it
	}
	step := child.String()[len(path.String()):]
	switch {
	case at.inMeta && step == ".additionalProperties":
		next.noDefaults = "inside additionalProperties applying to object metadata"
	case (at.root || p.XEmbeddedResource) && (step == ".properties[metadata]" || step == ".properties[kind]" ||
		step == ".properties[apiVersion]"):
		next.inMeta = true
		if at.root {
			next.noDefaults = "in top-level " + step[len(".properties["):len(step)-1]
		}
	}
	return next
}

func forbidden(path *field.Path, p *apiextensionsv1.JSONSchemaProps, at place) field.ErrorList {
	var errs field.ErrorList
	no := func(bad bool, name, detail string) {
		if bad {
			errs = append(errs, field.Forbidden(path.Child(name), detail))
		}
	}
	if p.Default != nil && at.noDefaults != "" {
		no(true, "default", "must not be set "+at.noDefaults)
	}
	no(p.ID != "", "id", "id is not supported")
	no(p.AdditionalItems != nil, "additionalItems", "additionalItems is not supported")
	no(len(p.PatternProperties) != 0, "patternProperties", "patternProperties is not supported")
	no(len(p.Definitions) != 0, "definitions", "definitions is not supported")
	no(p.Dependencies != nil, "dependencies", "dependencies is not supported")
	no(p.Ref != nil, "$ref", "$ref is not supported")
	no(p.Type == "null", "type", "type cannot be set to null, use nullable as an alternative")
	no(p.Items != nil && len(p.Items.JSONSchemas) != 0, "items", "items must be a schema object and not an array")
	no(at.inMeta && p.XEmbeddedResource, "x-kubernetes-embedded-resource", "must not be used inside of resource meta")
	no(p.UniqueItems, "uniqueItems", "uniqueItems cannot be set to true since the runtime complexity becomes quadratic")
	return errs
}

func openAPITypes() []string {
	return []string{"array", "boolean", "integer", "number", "object", "string"}
}

func isType(name string) bool { return name == "" || slices.Contains(openAPITypes(), name) }

func (n *nodes) extensions(path *field.Path, p *apiextensionsv1.JSONSchemaProps) field.ErrorList {
	var errs field.ErrorList
	typed := func(want, ext string) {
		must := "must be " + want + " if " + ext + " is specified"
		if p.Type == "" {
			errs = append(errs, field.Required(path.Child("type"), must))
		} else if p.Type != want {
			errs = append(errs, field.Invalid(path.Child("type"), p.Type, must))
		}
	}
	if p.XPreserveUnknownFields != nil && !*p.XPreserveUnknownFields {
		errs = append(errs, field.Invalid(path.Child("x-kubernetes-preserve-unknown-fields"), false,
			"must be true or undefined"))
	}
	if p.XMapType != nil {
		typed("object", "x-kubernetes-map-type")
		if !slices.Contains([]string{"atomic", "granular"}, *p.XMapType) {
			errs = append(errs, field.NotSupported(path.Child("x-kubernetes-map-type"), *p.XMapType,
				[]string{"atomic", "granular"}))
		}
	}
	if p.XListType != nil {
		typed("array", "x-kubernetes-list-type")
		if !slices.Contains([]string{"atomic", "set", "map"}, *p.XListType) {
			errs = append(errs, field.NotSupported(path.Child("x-kubernetes-list-type"), *p.XListType,
				[]string{"atomic", "set", "map"}))
		}
		if !n.stays.looseSets {
			errs = append(errs, validateSetItems(path, p)...)
		}
	}
	return append(errs, validateListMap(path, p)...)
}

func validateSetItems(path *field.Path, p *apiextensionsv1.JSONSchemaProps) field.ErrorList {
	if p.XListType == nil || *p.XListType != "set" || p.Items == nil || p.Items.Schema == nil {
		return nil
	}
	const must = "must be atomic as item of a list with x-kubernetes-list-type=set"
	switch item := p.Items.Schema; item.Type {
	case "array":
		if item.XListType != nil && *item.XListType != "atomic" {
			return field.ErrorList{field.Invalid(path.Child("items", "x-kubernetes-list-type"), item.XListType, must)}
		}
	case "object":
		if item.XMapType == nil || *item.XMapType != "atomic" {
			return field.ErrorList{field.Invalid(path.Child("items", "x-kubernetes-map-type"), item.XListType, must)}
		}
	}
	return nil
}

func validateListMap(path *field.Path, p *apiextensionsv1.JSONSchemaProps) field.ErrorList {
	var errs field.ErrorList
	keysAt, typeAt := path.Child("x-kubernetes-list-map-keys"), path.Child("x-kubernetes-list-type")
	if len(p.XListMapKeys) > 0 {
		const must = "must be map if x-kubernetes-list-map-keys is non-empty"
		if p.XListType == nil {
			errs = append(errs, field.Required(typeAt, must))
		} else if *p.XListType != "map" {
			errs = append(errs, field.Invalid(typeAt, *p.XListType, must))
		}
	}
	if p.XListType == nil || *p.XListType != "map" {
		return errs
	}
	if len(p.XListMapKeys) == 0 {
		errs = append(errs, field.Required(keysAt, "must not be empty if x-kubernetes-list-type is map"))
	}
	switch {
	case p.Items == nil:
		return append(errs, field.Required(path.Child("items"), "must have a schema if x-kubernetes-list-type is map"))
	case p.Items.Schema == nil:
		return append(errs, field.Invalid(path.Child("items"), p.Items,
			"must only have a single schema if x-kubernetes-list-type is map"))
	}
	item := p.Items.Schema
	if item.Type != "object" {
		return append(errs, field.Invalid(path.Child("items", "type"), item.Type,
			"must be object if parent array's x-kubernetes-list-type is map"))
	}
	seen := map[string]bool{}
	for _, key := range p.XListMapKeys {
		prop, ok := item.Properties[key]
		switch {
		case !ok:
			errs = append(errs, field.Invalid(keysAt, p.XListMapKeys, "entries must all be names of item properties"))
		case prop.Type == "array" || prop.Type == "object":
			errs = append(errs, field.Invalid(path.Child("items", "properties").Key(key).Child("type"), prop.Type,
				"must be a scalar type if parent array's x-kubernetes-list-type is map"))
		}
		if seen[key] {
			errs = append(errs, field.Invalid(keysAt, p.XListMapKeys, "must not contain duplicate entries"))
		}
		seen[key] = true
	}
	return errs
}

// validateListMapKeys sees to it that entries of sets and maps have identity.
func validateListMapKeys(path *field.Path, p *apiextensionsv1.JSONSchemaProps) field.ErrorList {
	if p.Items == nil || p.Items.Schema == nil || p.XListType == nil || *p.XListType != "set" && *p.XListType != "map" {
		return nil
	}
	var errs field.ErrorList
	item, at := p.Items.Schema, path.Child("items")
	if item.Nullable {
		errs = append(errs, field.Forbidden(at.Child("nullable"), "cannot be nullable when x-kubernetes-list-type is "+
			*p.XListType))
	}
	if *p.XListType != "map" {
		return errs
	}
	for _, key := range p.XListMapKeys {
		prop, ok := item.Properties[key]
		if !ok {
			continue
		}
		keyAt := at.Child("properties").Key(key)
		if !slices.Contains(item.Required, key) && prop.Default == nil {
			errs = append(errs, field.Required(keyAt.Child("default"),
				"this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"))
		}
		if prop.Nullable {
			errs = append(errs, field.Forbidden(keyAt.Child("nullable"),
				"this property is in x-kubernetes-list-map-keys, so it cannot be nullable"))
		}
	}
	return errs
}
