package openapi

import (
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	structural "triplane/apiextensions/schema"
)

const (
	metaPackage = "io.k8s.apimachinery.pkg.apis.meta.v1."
	conventions = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"

	apiVersionDoc = "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: " + conventions + "#resources"
	kindDoc       = "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: " + conventions + "#types-kinds"

	embeddedAPIVersionDoc = "apiVersion defines the versioned schema of this representation of an object. More info: " + conventions + "#resources"
	embeddedKindDoc       = "kind is a string value representing the type of this object. In CamelCase. More info: " + conventions + "#types-kinds"

	metadataDoc     = "Standard object's metadata. More info: " + conventions + "#metadata"
	listMetadataDoc = "Standard list metadata. More info: " + conventions + "#types-kinds"
)

// resource is one version of a CRD.
type resource struct {
	crd     *apiextensionsv1.CustomResourceDefinition
	version *apiextensionsv1.CustomResourceDefinitionVersion
	refs    string // "#/components/schemas/"
	v2      bool
}

func (r *resource) gvk(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.crd.Spec.Group, Version: r.version.Name, Kind: kind}
}

// modelName is the group back to front, as Go packages of built-in kinds are:
// com.example.v1.Widget.
func (r *resource) modelName(kind string) string {
	words := strings.Split(r.crd.Spec.Group, ".")
	slices.Reverse(words)
	return strings.Join(words, ".") + "." + r.version.Name + "." + kind
}

// schemas are the models of the object and its list.
func (r *resource) schemas() (map[string]*spec.Schema, error) {
	names := &r.crd.Status.AcceptedNames
	object, err := r.object()
	if err != nil {
		return nil, err
	}
	list := &spec.Schema{SchemaProps: spec.SchemaProps{
		Type:        spec.StringOrArray{"object"},
		Description: names.ListKind + " is a list of " + names.Kind,
		Required:    []string{"items"},
		Properties: map[string]spec.Schema{
			"apiVersion": text(apiVersionDoc), "kind": text(kindDoc),
			"metadata": r.ref(metaPackage+"ListMeta", listMetadataDoc),
			"items": {SchemaProps: spec.SchemaProps{
				Type:        spec.StringOrArray{"array"},
				Description: "List of " + names.Plural + ". More info: " + conventions,
				Items:       &spec.SchemaOrArray{Schema: r.plainRef(r.modelName(names.Kind))},
			}},
		},
	}}
	r.extend(object, names.Kind)
	r.extend(list, names.ListKind)
	return map[string]*spec.Schema{r.modelName(names.Kind): object, r.modelName(names.ListKind): list}, nil
}

// extend names the kind and the selectable fields.
func (r *resource) extend(s *spec.Schema, kind string) {
	gvk := r.gvk(kind)
	s.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}})
	var fields []any
	for _, f := range r.version.SelectableFields {
		fields = append(fields, map[string]any{"fieldPath": strings.TrimPrefix(f.JSONPath, ".")})
	}
	if len(fields) > 0 {
		s.AddExtension("x-kubernetes-selectable-fields", fields)
	}
}

func (r *resource) object() (*spec.Schema, error) {
	if r.version.Schema == nil || r.version.Schema.OpenAPIV3Schema == nil || r.crd.Spec.PreserveUnknownFields {
		s := ofType("object")
		s.AddExtension("x-kubernetes-preserve-unknown-fields", true)
		return s, nil
	}
	props := r.version.Schema.OpenAPIV3Schema
	if r.v2 && props.XPreserveUnknownFields != nil && *props.XPreserveUnknownFields {
		// Clients of this version take a schema with properties for the whole truth.
		return ofType("object"), nil
	}
	edit := r.publishV3
	if r.v2 {
		edit = r.publishV2
	}
	s, err := structural.ToOpenAPI(props, edit)
	if err != nil {
		return nil, err
	}
	r.addMeta(s, apiVersionDoc, kindDoc)
	return s, nil
}

// publishV3 brings a node of a CRD's schema into the form that clients read.
func (r *resource) publishV3(s *spec.Schema) {
	if is(s, "x-kubernetes-int-or-string") {
		sayIntOrString(s)
	}
	if is(s, "x-kubernetes-embedded-resource") {
		r.embed(s)
	}
}

// publishV2 does so in OpenAPI v2, which knows no logic on values, no null and no
// unknown fields: what it cannot say is left open.
func (r *resource) publishV2(s *spec.Schema) {
	s.AllOf, s.AnyOf, s.OneOf, s.Not = nil, nil, nil, nil
	s.Default = nil
	s.Required = slices.DeleteFunc(slices.Clone(s.Required), func(name string) bool { return s.Properties[name].Nullable })
	for name, p := range s.Properties {
		if p.Nullable {
			s.Properties[name] = open(p)
		}
	}
	if s.Items != nil && s.Items.Schema.Nullable {
		// Old clients refuse an array without items.
		opened := open(*s.Items.Schema)
		s.Items.Schema = &opened
	}
	if a := s.AdditionalProperties; a != nil && a.Schema != nil && a.Schema.Nullable {
		opened := open(*a.Schema)
		a.Schema = &opened
	}
	if is(s, "x-kubernetes-int-or-string") {
		s.Type = nil
	}
	switch {
	case is(s, "x-kubernetes-preserve-unknown-fields"):
		s.Items, s.Properties = nil, nil
	case is(s, "x-kubernetes-embedded-resource"):
		r.embed(s)
	}
}

// open leaves of a schema that allows null what says no type.
func open(s spec.Schema) spec.Schema {
	s.Type, s.Nullable = nil, false
	s.Items, s.Properties, s.AdditionalProperties = nil, nil, nil
	return s
}

func is(s *spec.Schema, extension string) bool {
	v, ok := s.Extensions[extension]
	return ok && v == true
}

// sayIntOrString has a schema name its two types, where it does not do so itself.
func sayIntOrString(s *spec.Schema) {
	s.Type = nil
	either := []spec.Schema{*ofType("integer"), *ofType("string")}
	isEither := func(s spec.Schema) bool { return reflect.DeepEqual(s.AnyOf, either) }
	switch {
	case isEither(*s) || len(s.AllOf) > 0 && isEither(s.AllOf[0]):
	case len(s.AnyOf) == 0:
		s.AnyOf = either
	default:
		s.AllOf = append([]spec.Schema{{SchemaProps: spec.SchemaProps{AnyOf: either}}}, s.AllOf...)
	}
}

// embed gives the schema of an embedded resource what all resources have.
func (r *resource) embed(s *spec.Schema) {
	r.addMeta(s, embeddedAPIVersionDoc, embeddedKindDoc)
	for _, name := range []string{"kind", "apiVersion"} {
		if !slices.Contains(s.Required, name) {
			s.Required = append(slices.Clone(s.Required), name)
		}
	}
}

func (r *resource) addMeta(s *spec.Schema, apiVersion, kind string) {
	if s.Properties == nil {
		s.Properties = map[string]spec.Schema{}
	}
	s.Properties["apiVersion"], s.Properties["kind"] = text(apiVersion), text(kind)
	s.Properties["metadata"] = r.ref(metaPackage+"ObjectMeta", metadataDoc)
}

func text(description string) spec.Schema {
	s := ofType("string")
	s.Description = description
	return *s
}

func ofType(name string) *spec.Schema {
	return &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{name}}}
}

func (r *resource) plainRef(model string) *spec.Schema {
	return &spec.Schema{SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef(r.refs + model)}}
}

// ref is a reference with a description of its own, which OpenAPI v3 allows only
// around it.
func (r *resource) ref(model, description string) spec.Schema {
	if r.v2 {
		s := r.plainRef(model)
		s.Description = description
		return *s
	}
	return spec.Schema{SchemaProps: spec.SchemaProps{Description: description, AllOf: []spec.Schema{*r.plainRef(model)}}}
}
