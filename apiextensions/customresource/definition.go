package customresource

import (
	"fmt"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/version"
	kjson "sigs.k8s.io/json"

	"triplane.dev/apiextensions/conversion"
	structural "triplane.dev/apiextensions/schema"
	"triplane.dev/apiextensions/schema/cel"
)

// Definition is what a CRD means for its objects: its versions, of which the schemas are
// read when the first object is. It is immutable but for that, and safe for concurrent use.
type Definition struct {
	crd *apiextensionsv1.CustomResourceDefinition // without schemas
	// schemas are those of the versions that have one, in JSON.
	schemas   func() (map[string][]byte, error)
	storage   *Version
	versions  map[string]*Version
	converter conversion.Converter
	// Types is the type converter of all versions, for managed fields, made on
	// first use.
	Types func() (managedfields.TypeConverter, error)
	// expressions counts what the rules do; nil counts nothing.
	expressions *cel.Metrics
}

// Version is one version of a Definition.
type Version struct {
	definition *Definition
	spec       *apiextensionsv1.CustomResourceDefinitionVersion
	gvk        schema.GroupVersionKind

	codec *versionCodec

	// shape is the schema, read with the first object.
	shape func() (shape, error)
	// shapedAsStorage reports whether the schema is the storage version's.
	shapedAsStorage func() bool
}

// shape is a version's schema, as values need it: decoded as a whole it takes as much memory again.
type shape struct {
	skeleton *structural.Schema
	compiled *compiled
	broken   error // why nothing is compiled; objects can be read all the same
}

// compiled is a version's schema, ready to validate objects.
type compiled struct {
	schema    *structural.Schema
	validator *structural.Validator
	status    *structural.Validator // nil where the schema does not know it
	rules     *cel.Validator
}

// New reads a definition from the outline of a CRD. schemas returns the schemas of its versions in JSON
// and is called when the first is needed; nil expressions count nothing.
func New(crd *apiextensionsv1.CustomResourceDefinition, schemas func() (map[string][]byte, error),
	converter conversion.Converter, types *TypeConverters, expressions *cel.Metrics) (*Definition, error) {
	d := &Definition{crd: crd, schemas: schemas, versions: make(map[string]*Version, len(crd.Spec.Versions)),
		converter: converter, expressions: expressions}
	d.Types = sync.OnceValues(func() (managedfields.TypeConverter, error) { return types.of(d) })
	for i := range crd.Spec.Versions {
		spec := &crd.Spec.Versions[i]
		v := &Version{
			definition: d,
			spec:       spec,
			gvk:        schema.GroupVersionKind{Group: crd.Spec.Group, Version: spec.Name, Kind: crd.Status.AcceptedNames.Kind},
		}
		v.codec = &versionCodec{version: v}
		v.shape = sync.OnceValues(v.readShape)
		v.shapedAsStorage = sync.OnceValue(v.sameShape)
		d.versions[spec.Name] = v
		if spec.Storage {
			d.storage = v
		}
	}
	if d.storage == nil {
		return nil, fmt.Errorf("the definition %s has no storage version", crd.Name)
	}
	return d, nil
}

// Version returns the version of a name, nil if there is none.
func (d *Definition) Version(name string) *Version { return d.versions[name] }

// GroupVersion is the name of the version, with its group.
func (v *Version) GroupVersion() schema.GroupVersion { return v.gvk.GroupVersion() }

// byWebhook reports whether a webhook makes the objects of the version.
func (v *Version) byWebhook() bool {
	_, none := v.definition.converter.(conversion.None)
	return !none && v != v.definition.storage
}

// props decodes the schema, nil where there is none.
func (v *Version) props() (*apiextensionsv1.JSONSchemaProps, error) {
	schemas, err := v.definition.schemas()
	if err != nil || schemas[v.spec.Name] == nil {
		return nil, err
	}
	props := &apiextensionsv1.JSONSchemaProps{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(schemas[v.spec.Name], props); err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", v.gvk, err)
	}
	return props, nil
}

func (v *Version) readShape() (s shape, err error) {
	props, err := v.props()
	if err != nil {
		return s, err
	}
	if props == nil {
		s.skeleton = &structural.Schema{Preserve: true}
		s.compiled = &compiled{schema: s.skeleton}
		return s, nil
	}
	if s.skeleton, err = v.structure(props); err != nil {
		return shape{}, fmt.Errorf("the schema of %s: %w", v.gvk, err)
	}
	s.skeleton.DropProps()
	s.compiled, s.broken = v.compile(props, s.skeleton)
	return s, nil
}

// skeleton is the part of the schema that says where values have a place.
func (v *Version) skeleton() (*structural.Schema, error) {
	s, err := v.shape()
	return s.skeleton, err
}

// compiled is what objects are validated by.
func (v *Version) compiled() (*compiled, error) {
	s, err := v.shape()
	if err != nil {
		return nil, err
	}
	return s.compiled, s.broken
}

func (v *Version) compile(props *apiextensionsv1.JSONSchemaProps, skeleton *structural.Schema) (*compiled, error) {
	validator, err := structural.NewValidator(props)
	if err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", v.gvk, err)
	}
	c := &compiled{schema: skeleton, validator: validator, rules: cel.NewValidator(skeleton, v.definition.expressions)}
	if v.hasStatus() {
		c.status = validator.Of("status")
	}
	return c, nil
}

// structure returns the skeleton of a schema. Where unknown fields are preserved a schema
// may have none (items that are a list): nothing is pruned then, and its objects stay readable.
func (v *Version) structure(props *apiextensionsv1.JSONSchemaProps) (*structural.Schema, error) {
	s, err := structural.New(props)
	if !v.definition.crd.Spec.PreserveUnknownFields {
		return s, err
	}
	if err != nil {
		return &structural.Schema{Preserve: true}, nil
	}
	return s.Preserving(), nil
}

// served lists the served versions, the most stable and newest first.
func (d *Definition) served() []*Version {
	var all []*Version
	for _, v := range d.versions {
		if v.spec.Served {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b *Version) int {
		return version.CompareKubeAwareVersionStrings(b.gvk.Version, a.gvk.Version)
	})
	return all
}

// DeprecationWarning is what clients of the version are warned of, "" if
// nothing.
func (v *Version) DeprecationWarning() string {
	if !v.spec.Deprecated {
		return ""
	}
	if v.spec.DeprecationWarning != nil {
		return *v.spec.DeprecationWarning
	}
	text := v.gvk.GroupVersion().String() + " " + v.gvk.Kind + " is deprecated"
	for _, other := range v.definition.served() {
		if !other.spec.Deprecated && version.CompareKubeAwareVersionStrings(other.gvk.Version, v.gvk.Version) > 0 {
			return text + "; use " + other.gvk.GroupVersion().String() + " " + v.gvk.Kind
		}
	}
	return text
}
