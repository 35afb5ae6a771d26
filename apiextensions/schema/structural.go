package schema

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Schema is the structural skeleton of an OpenAPI schema.
type Schema struct {
	// Props is what the Schema was made from, until DropProps. It must not be changed.
	Props *apiextensionsv1.JSONSchemaProps

	Type     string
	Format   string
	Nullable bool
	// IntOrString, Preserve and Embedded are the x-kubernetes-int-or-string,
	// -preserve-unknown-fields and -embedded-resource extensions.
	IntOrString bool
	Preserve    bool
	Embedded    bool
	// KeepNulls leaves nulls to validation that have no place, and no default takes.
	KeepNulls   bool
	ListType    string
	ListMapKeys []string
	MapType     string
	Rules       []apiextensionsv1.ValidationRule
	// Default is the default value where HasDefault is set; a default of null
	// counts as none.
	Default     any
	HasDefault  bool
	defaultSize int // of its JSON

	Items      *Schema
	Properties map[string]*Schema
	// Additional is the schema of properties that are not named. It is nil, and
	// AdditionalAllowed set, for "additionalProperties: true", and for false, which
	// leaves them to validation to refuse.
	Additional        *Schema
	AdditionalAllowed bool

	// Whether there is, here or below, any default, embedded resource, or list
	// that is a set or a map: walks leave out what has none.
	defaults bool
	embeds   bool
	lists    bool
	// defaulted is how many of the properties have defaults.
	defaulted int
}

// New reads a schema. It fails on what a skeleton cannot hold: items as a list
// of schemas, and defaults that are not JSON.
func New(props *apiextensionsv1.JSONSchemaProps) (*Schema, error) {
	if props == nil {
		return nil, nil
	}
	s := &Schema{
		Props:       props,
		Type:        props.Type,
		Format:      props.Format,
		Rules:       props.XValidations,
		Nullable:    props.Nullable,
		IntOrString: props.XIntOrString,
		Preserve:    props.XPreserveUnknownFields != nil && *props.XPreserveUnknownFields,
		Embedded:    props.XEmbeddedResource,
		ListMapKeys: props.XListMapKeys,
	}
	if props.XListType != nil {
		s.ListType = *props.XListType
	}
	if props.XMapType != nil {
		s.MapType = *props.XMapType
	}
	if props.Default != nil {
		v, err := decode(props.Default.Raw)
		if err != nil {
			return nil, fmt.Errorf("default: %w", err)
		}
		s.Default, s.HasDefault, s.defaultSize = v, v != nil, len(props.Default.Raw)
	}
	if err := s.readChildren(props); err != nil {
		return nil, err
	}
	s.summarize()
	return s, nil
}

func (s *Schema) readChildren(props *apiextensionsv1.JSONSchemaProps) (err error) {
	if props.Items != nil {
		if len(props.Items.JSONSchemas) > 0 {
			return fmt.Errorf("items must be a schema object and not an array")
		}
		if s.Items, err = New(props.Items.Schema); err != nil {
			return err
		}
	}
	if len(props.Properties) > 0 {
		s.Properties = make(map[string]*Schema, len(props.Properties))
		for name := range props.Properties {
			p := props.Properties[name]
			if s.Properties[name], err = New(&p); err != nil {
				return err
			}
		}
	}
	if props.AdditionalProperties != nil {
		s.AdditionalAllowed = true
		if props.AdditionalProperties.Schema != nil {
			if s.Additional, err = New(props.AdditionalProperties.Schema); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Schema) summarize() {
	s.embeds = s.Embedded
	s.lists = s.ListType == "set" || s.ListType == "map"
	for _, p := range s.Properties {
		if p.HasDefault {
			s.defaulted++
		}
	}
	s.each(func(c *Schema) {
		s.defaults = s.defaults || c.defaults || c.HasDefault
		s.embeds = s.embeds || c.embeds
		s.lists = s.lists || c.lists
	})
}

// Preserving returns the schema with a place for everything at all its levels, and for
// null, as spec.preserveUnknownFields of a definition has it.
func (s *Schema) Preserving() *Schema {
	if s == nil {
		return nil
	}
	out := *s
	out.Preserve, out.KeepNulls = true, true
	out.Items, out.Additional = s.Items.Preserving(), s.Additional.Preserving()
	out.AdditionalAllowed = out.Additional != nil // what has no schema is kept all the same
	out.Properties = make(map[string]*Schema, len(s.Properties))
	for name, p := range s.Properties {
		out.Properties[name] = p.Preserving()
	}
	return &out
}

// DropProps lets go of what the Schema was made from, here and below: most of its memory. Checks of the
// schema itself need it, values do not.
func (s *Schema) DropProps() {
	s.Props = nil
	s.each((*Schema).DropProps)
}

func (s *Schema) each(f func(*Schema)) {
	if s.Items != nil {
		f(s.Items)
	}
	if s.Additional != nil {
		f(s.Additional)
	}
	for _, p := range s.Properties {
		f(p)
	}
}

// child is the schema of a property; known reports whether it has a place at all,
// which may be one without a schema.
func (s *Schema) child(name string) (c *Schema, known bool) {
	if p, ok := s.Properties[name]; ok {
		return p, true
	}
	return s.Additional, s.AdditionalAllowed
}

// CheckValues returns an error where a value of a schema, or of one within it, cannot be read: a validator of
// it could not be made.
func CheckValues(props *apiextensionsv1.JSONSchemaProps) (err error) {
	Walk(props, func(s *apiextensionsv1.JSONSchemaProps) {
		if err == nil {
			err = convertValues(s, &spec.Schema{})
		}
	})
	return err
}

func decode(raw []byte) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var v any
	if err := utiljson.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return v, nil
}
