package schema

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CheckDefaults validates the defaults of a structural schema: each must be valid
// by the schema that it stands in, and have no fields that would be pruned.
func CheckDefaults(path *field.Path, s *Schema) (field.ErrorList, error) {
	return checkDefaults(path, s, false)
}

// inMeta says that the node is inside the metadata of a resource, whose own
// defaults are validated with the resource.
func checkDefaults(path *field.Path, s *Schema, inMeta bool) (field.ErrorList, error) {
	if s == nil || !s.defaults && !s.HasDefault {
		return nil, nil
	}
	var errs field.ErrorList
	if s.HasDefault {
		more, err := checkDefault(path.Child("default"), s, inMeta)
		if err != nil {
			return nil, err
		}
		errs = append(errs, more...)
	}
	down := func(p *field.Path, c *Schema, inMeta bool) error {
		more, err := checkDefaults(p, c, inMeta)
		errs = append(errs, more...)
		return err
	}
	if err := down(path.Child("items"), s.Items, inMeta); err != nil {
		return nil, err
	}
	for name, p := range s.Properties {
		meta := inMeta || s.Embedded && isMetaField(name)
		if err := down(path.Child("properties").Key(name), p, meta); err != nil {
			return nil, err
		}
	}
	if err := down(path.Child("additionalProperties"), s.Additional, inMeta); err != nil {
		return nil, err
	}
	return errs, nil
}

func checkDefault(path *field.Path, s *Schema, inMeta bool) (field.ErrorList, error) {
	if !inMeta {
		kept := runtime.DeepCopyJSONValue(s.Default)
		(&pruner{}).value(kept, s)
		if !reflect.DeepEqual(kept, s.Default) {
			return field.ErrorList{field.Invalid(path, s.Default, "must not have unknown fields")}, nil
		}
	}
	whole := runtime.DeepCopyJSONValue(s.Default)
	c := coercer{}
	c.value(path, whole, s)
	if c.err != nil {
		return field.ErrorList{field.Invalid(path, s.Default, fmt.Sprintf("must result in valid metadata: %v", c.err))}, nil
	}
	if errs := validateNested(path, whole, s); len(errs) > 0 {
		return errs, nil
	}
	v, err := NewValidator(s.Props)
	if err != nil {
		return nil, err
	}
	if errs := v.Validate(path, whole); len(errs) > 0 {
		return errs, nil
	}
	return ValidateLists(path, s, whole), nil
}
