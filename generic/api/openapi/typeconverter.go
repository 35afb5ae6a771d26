package openapi

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/util"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"triplane.dev/generic/api/openapi/models"
)

// typeConverter turns objects of the built-in kinds into typed values for
// managed fields. It knows no kind until an object of it comes by: parsing all
// schemas costs more than a server's whole start.
type typeConverter struct {
	source *models.Source
	scheme *runtime.Scheme

	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]managedfields.TypeConverter
}

// NewTypeConverter returns the type converter of the kinds in a scheme. It is
// safe for concurrent use.
func NewTypeConverter(source *models.Source, scheme *runtime.Scheme) managedfields.TypeConverter {
	return &typeConverter{source: source, scheme: scheme, kinds: map[schema.GroupVersionKind]managedfields.TypeConverter{}}
}

// ObjectToTyped implements managedfields.TypeConverter.
func (c *typeConverter) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	kind, err := c.kind(obj.GetObjectKind().GroupVersionKind())
	if err != nil {
		return nil, err
	}
	return kind.ObjectToTyped(obj, opts...)
}

// TypedToObject implements managedfields.TypeConverter.
func (c *typeConverter) TypedToObject(v *typed.TypedValue) (runtime.Object, error) {
	// The value itself says its kind; no schema is needed.
	return managedfields.NewDeducedTypeConverter().TypedToObject(v)
}

// kind returns the converter of one kind.
func (c *typeConverter) kind(gvk schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, ok := c.kinds[gvk]; ok {
		return k, nil
	}
	obj, err := c.scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	k, err := c.build(gvk, util.GetCanonicalTypeName(obj))
	if err != nil {
		return nil, err
	}
	c.kinds[gvk] = k
	return k, nil
}

func (c *typeConverter) build(gvk schema.GroupVersionKind, name string) (managedfields.TypeConverter, error) {
	m, err := c.source.Models()
	if err != nil {
		return nil, err
	}
	if !m.Has(name) {
		return nil, fmt.Errorf("no OpenAPI model %s of %v", name, gvk)
	}
	schemas, err := m.Schemas(refsV2, name)
	if err != nil {
		return nil, err
	}
	schemas[models.Name(name)].AddExtension(extensionGVK, []any{gvkExtension(gvk)})
	return managedfields.NewTypeConverter(schemas, false)
}
