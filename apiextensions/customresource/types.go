package customresource

import (
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/validation/spec"

	structural "triplane.dev/apiextensions/schema"
	"triplane.dev/apiextensions/validation"
	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/api/openapi/models"
)

const objectMetaModel = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// TypeConverters make the type converters of custom resources' schemas, for
// managed fields.
type TypeConverters struct {
	models *models.Source
	// Scale is the type converter of scales, the same for all custom resources.
	Scale func() (managedfields.TypeConverter, error)
}

// NewTypeConverters returns those whose metadata is that of the models.
func NewTypeConverters(m *models.Source) *TypeConverters {
	return &TypeConverters{models: m, Scale: sync.OnceValues(func() (managedfields.TypeConverter, error) {
		scheme := runtime.NewScheme()
		scheme.AddKnownTypes(ScaleKind.GroupVersion(), &autoscalingv1.Scale{})
		return openapi.NewTypeConverter(m, scheme), nil
	})}
}

// of returns the type converter of a definition, with all its versions. Without usable types in the schema, which
// validation rejects today, types are deduced from the values.
func (t *TypeConverters) of(d *Definition) (managedfields.TypeConverter, error) {
	typed, err := t.typed(d)
	if err != nil {
		klog.Background().Error(err, "Objects are applied without a schema", "definition", d.crd.Name)
		return managedfields.NewDeducedTypeConverter(), nil
	}
	return typed, nil
}

func (t *TypeConverters) typed(d *Definition) (managedfields.TypeConverter, error) {
	schemas, err := t.meta()
	if err != nil {
		return nil, err
	}
	preserve := d.crd.Spec.PreserveUnknownFields
	for _, v := range d.versions {
		props, err := v.props()
		if err != nil {
			return nil, err
		}
		s := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
		if props != nil && validation.IsStructural(props) {
			if s, err = structural.ToOpenAPI(props, forManagedFields); err != nil {
				return nil, err
			}
		} else {
			s.AddExtension("x-kubernetes-preserve-unknown-fields", true)
		}
		asResource(s)
		s.AddExtension("x-kubernetes-group-version-kind", []any{gvkExtension(v.gvk)})
		schemas[v.gvk.Group+"."+v.gvk.Version+"."+v.gvk.Kind] = s
	}
	return managedfields.NewTypeConverter(schemas, preserve)
}

func (t *TypeConverters) meta() (map[string]*spec.Schema, error) {
	m, err := t.models.Models()
	if err != nil {
		return nil, err
	}
	return m.Schemas("#/definitions/", objectMetaModel)
}

func gvkExtension(gvk schema.GroupVersionKind) map[string]any {
	return map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}
}

// forManagedFields leaves of a schema what says the shape of values.
func forManagedFields(s *spec.Schema) {
	s.AllOf, s.AnyOf, s.OneOf, s.Not = nil, nil, nil, nil
	if v, ok := s.Extensions["x-kubernetes-embedded-resource"]; ok && v == true {
		asResource(s)
	}
}

// asResource gives an object's schema its kind, apiVersion and metadata.
func asResource(s *spec.Schema) {
	if s.Properties == nil {
		s.Properties = map[string]spec.Schema{}
	}
	text := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}}
	s.Properties["kind"], s.Properties["apiVersion"] = text, text
	s.Properties["metadata"] = spec.Schema{SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef("#/definitions/" +
		objectMetaModel)}}
}
