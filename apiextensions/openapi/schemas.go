package openapi

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/apiextensions/validation"
	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/storage/wire"
)

const (
	metaPackage = "io.k8s.apimachinery.pkg.apis.meta.v1."
	conventions = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"

	apiVersionDoc = "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: " + conventions + "#resources"
	kindDoc       = "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: " + conventions + "#types-kinds"

	embeddedAPIVersionDoc = "apiVersion defines the versioned schema of this representation of an object. More info: " +
		conventions + "#resources"
	embeddedKindDoc = "kind is a string value representing the type of this object. In CamelCase. More info: " +
		conventions + "#types-kinds"

	metadataDoc     = "Standard object's metadata. More info: " + conventions + "#metadata"
	listMetadataDoc = "Standard list metadata. More info: " + conventions + "#types-kinds"
)

// resource is one version of a CRD.
type resource struct {
	// crd has no schemas.
	crd     *apiextensionsv1.CustomResourceDefinition
	version *apiextensionsv1.CustomResourceDefinitionVersion
	schema  []byte // in JSON, nil for none
}

func (r *resource) gvk(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.crd.Spec.Group, Version: r.version.Name, Kind: kind}
}

// modelName is the group back to front, as Go packages of built-in kinds are:
// com.example.v1.Widget. Built-in kinds keep their names.
func (d *document) modelName(r *resource, kind string) string {
	words := strings.Split(r.crd.Spec.Group, ".")
	slices.Reverse(words)
	return d.draft.Free(strings.Join(words, ".") + "." + r.version.Name + "." + kind)
}

// models writes those of the object and its list.
func (d *document) models(r *resource) {
	names := &r.crd.Status.AcceptedNames
	model := d.modelName(r, names.Kind)
	d.text = r.extended(d.object(d.text[:0], r), names.Kind)
	d.draft.Model(model, d.text)
	d.text = r.extended(d.listOf(d.text[:0], r, model), names.ListKind)
	d.draft.Model(d.modelName(r, names.ListKind), d.text)
}

// object appends the model of an object.
func (d *document) object(dst []byte, r *resource) []byte {
	if d.publishes(r) {
		return d.root(dst, r.schema)
	}
	o := wire.BeginJSON(dst)
	o.Text("type", "object")
	return o.End()
}

// publishes reports whether the model shows the schema. Clients of v2 take one with properties
// for the whole truth. A schema that is not structural, as old definitions may have that
// preserve unknown fields, is in no document.
func (d *document) publishes(r *resource) bool {
	open := r.crd.Spec.PreserveUnknownFields || string(wire.MemberOf(r.schema, preserveUnknown)) == "true"
	if r.schema == nil || d.v2 && open {
		return false
	}
	return !r.crd.Spec.PreserveUnknownFields || validation.IsStructural(r.version.Schema.OpenAPIV3Schema)
}

func (d *document) listOf(dst []byte, r *resource, model string) []byte {
	names := &r.crd.Status.AcceptedNames
	o := wire.BeginJSON(dst)
	o.Text("type", "object")
	o.Text("description", names.ListKind+" is a list of "+names.Kind)
	o.Member("required", []byte(`["items"]`))
	o.Key([]byte("properties"))
	properties := wire.BeginJSON(o.Dst)
	properties.Member("apiVersion", text(apiVersionDoc))
	properties.Member("kind", text(kindDoc))
	properties.Key([]byte("metadata"))
	properties.Dst = d.ref(properties.Dst, metaPackage+"ListMeta", listMetadataDoc)
	properties.Key([]byte("items"))
	items := wire.BeginJSON(properties.Dst)
	items.Text("type", "array")
	items.Text("description", "List of "+names.Plural+". More info: "+conventions)
	items.Key([]byte("items"))
	items.Dst = d.plainRef(items.Dst, model)
	properties.Dst = items.End()
	o.Dst = properties.End()
	return o.End()
}

// extended adds to a model its kind and the selectable fields.
func (r *resource) extended(model []byte, kind string) []byte {
	model = openapi.AppendKinds(model, r.gvk(kind))
	if len(r.version.SelectableFields) == 0 {
		return model
	}
	model = append(model[:len(model)-1], `,"x-kubernetes-selectable-fields":[`...)
	for i, f := range r.version.SelectableFields {
		if i > 0 {
			model = append(model, ',')
		}
		field := wire.BeginJSON(model)
		field.Text("fieldPath", strings.TrimPrefix(f.JSONPath, "."))
		model = field.End()
	}
	return append(model, `]}`...)
}
