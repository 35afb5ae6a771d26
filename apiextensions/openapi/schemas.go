package openapi

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"triplane/generic/openapi"
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
	// crd has no schemas.
	crd     *apiextensionsv1.CustomResourceDefinition
	version *apiextensionsv1.CustomResourceDefinitionVersion
	schema  []byte // in JSON, nil for none
}

// gvk is a kind in JSON.
func (r *resource) gvk(kind string) []byte {
	o := begin(nil)
	o.text("group", r.crd.Spec.Group)
	o.text("version", r.version.Name)
	o.text("kind", kind)
	return o.end()
}

// modelName is the group back to front, as Go packages of built-in kinds are:
// com.example.v1.Widget.
func (r *resource) modelName(kind string) string {
	words := strings.Split(r.crd.Spec.Group, ".")
	slices.Reverse(words)
	return strings.Join(words, ".") + "." + r.version.Name + "." + kind
}

// models are those of the object and its list.
func (d *document) models(r *resource) []openapi.Member {
	names := &r.crd.Status.AcceptedNames
	model := r.modelName(names.Kind)
	return []openapi.Member{
		{Name: model, JSON: r.extended(d.object(r), names.Kind)},
		{Name: r.modelName(names.ListKind), JSON: r.extended(d.listOf(r, model), names.ListKind)},
	}
}

// object begins the model of an object.
func (d *document) object(r *resource) object {
	kept := read(r.schema).is(preserveUnknown)
	if r.schema == nil || r.crd.Spec.PreserveUnknownFields || d.v2 && kept {
		o := begin(nil)
		o.text("type", "object")
		if !d.v2 || !kept {
			// Clients of v2 take a schema with properties for the whole truth.
			o.member(preserveUnknown, []byte("true"))
		}
		return o
	}
	return d.root(make([]byte, 0, len(r.schema)+1024), r.schema)
}

func (d *document) listOf(r *resource, model string) object {
	names := &r.crd.Status.AcceptedNames
	o := begin(nil)
	o.text("type", "object")
	o.text("description", names.ListKind+" is a list of "+names.Kind)
	o.member("required", []byte(`["items"]`))
	o.key([]byte("properties"))
	properties := begin(o.dst)
	properties.member("apiVersion", text(apiVersionDoc))
	properties.member("kind", text(kindDoc))
	properties.key([]byte("metadata"))
	properties.dst = d.ref(properties.dst, metaPackage+"ListMeta", listMetadataDoc)
	properties.key([]byte("items"))
	items := begin(properties.dst)
	items.text("type", "array")
	items.text("description", "List of "+names.Plural+". More info: "+conventions)
	items.key([]byte("items"))
	items.dst = d.plainRef(items.dst, model)
	properties.dst = items.end()
	o.dst = properties.end()
	return o
}

// extended ends a model with its kind and the selectable fields.
func (r *resource) extended(o object, kind string) []byte {
	o.member("x-kubernetes-group-version-kind", append(append([]byte{'['}, r.gvk(kind)...), ']'))
	if len(r.version.SelectableFields) == 0 {
		return o.end()
	}
	o.key([]byte("x-kubernetes-selectable-fields"))
	o.dst = append(o.dst, '[')
	for i, f := range r.version.SelectableFields {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		field := begin(o.dst)
		field.text("fieldPath", strings.TrimPrefix(f.JSONPath, "."))
		o.dst = field.end()
	}
	o.dst = append(o.dst, ']')
	return o.end()
}
