package schema

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DefaultRules validates a default at the path by the CEL rules of its schema.
type DefaultRules func(ctx context.Context, path *field.Path, s *Schema, value any) field.ErrorList

// CheckDefaults validates the defaults of a structural schema: each must be valid
// by the schema that it stands in, rules included, and have no fields that would be
// pruned. rules may be nil.
func CheckDefaults(ctx context.Context, path *field.Path, s *Schema, rules DefaultRules) (field.ErrorList, error) {
	if s == nil {
		return nil, nil
	}
	root := *s
	root.Embedded = true
	c := &defaultsCheck{ctx: ctx, rules: rules}
	err := c.node(path, &root, inResource{resource: &root})
	return c.errs, err
}

type defaultsCheck struct {
	ctx   context.Context
	rules DefaultRules
	errs  field.ErrorList
}

// inResource is the place of a schema in the resource around it, which may be an
// embedded one.
type inResource struct {
	resource *Schema
	// meta says that the place is in kind, apiVersion or metadata, and around makes
	// the resource of which a value is there.
	meta   bool
	around func(value any) map[string]any
}

// down is the place of a property, of an item where name is "".
func (in inResource) down(parent *Schema, name string) inResource {
	next := in
	next.meta = in.meta || parent.Embedded && isMetaField(name)
	if !next.meta {
		return next
	}
	next.around = func(value any) map[string]any {
		switch {
		case !in.meta:
			resource := map[string]any{"apiVersion": "validation/v1", "kind": "Validation"}
			resource[name] = value
			return resource
		case name == "":
			return in.around([]any{value})
		}
		return in.around(map[string]any{name: value})
	}
	return next
}

func (c *defaultsCheck) node(path *field.Path, s *Schema, in inResource) error {
	if s == nil || !s.defaults && !s.HasDefault {
		return nil
	}
	if s.Embedded {
		in = inResource{resource: s}
	}
	if s.HasDefault {
		if err := c.value(path.Child("default"), s, in); err != nil {
			return err
		}
	}
	if err := c.node(path.Child("items"), s.Items, in.down(s, "")); err != nil {
		return err
	}
	for name, p := range s.Properties {
		if err := c.node(path.Child("properties").Key(name), p, in.down(s, name)); err != nil {
			return err
		}
	}
	return c.node(path.Child("additionalProperties"), s.Additional, in.down(s, "*"))
}

func (c *defaultsCheck) value(path *field.Path, s *Schema, in inResource) error {
	if !in.meta {
		kept := runtime.DeepCopyJSONValue(s.Default)
		(&pruner{}).value(kept, s)
		if !reflect.DeepEqual(kept, s.Default) {
			c.errs = append(c.errs, field.Invalid(path, s.Default, "must not have unknown fields"))
		}
	}
	if err := defaultMetadata(path, s, in); err != nil {
		c.errs = append(c.errs, field.Invalid(path, s.Default, fmt.Sprintf("must result in valid metadata: %v", err)))
		return nil
	}
	v, err := NewValidator(s.Props)
	if err != nil {
		return err
	}
	errs := v.Validate(path, s.Default)
	if len(errs) == 0 && !in.meta {
		errs = ValidateLists(path, s, s.Default)
	}
	if len(errs) == 0 && c.rules != nil {
		errs = c.rules(c.ctx, path, s, s.Default)
	}
	c.errs = append(c.errs, errs...)
	return nil
}

// defaultMetadata validates the metadata that a default results in: that of embedded
// resources in it, or that of the resource around it.
func defaultMetadata(path *field.Path, s *Schema, in inResource) error {
	value := runtime.DeepCopyJSONValue(s.Default)
	if in.meta {
		path, s, value = nil, in.resource, in.around(value)
	}
	c := coercer{}
	if in.meta {
		c.resource(path, value.(map[string]any))
	}
	if c.value(path, value, s); c.err != nil {
		return c.err
	}
	return validateNested(path, value, s).ToAggregate()
}
