package schema

import (
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// ValidateUpdate returns what is wrong with a value at the path that replaces old,
// except for what was there before (KEP-4008): the parts of it that did not change
// are valid. s is the structural form of the validator's schema. previous is asked
// for the old value where that matters, and returns nil where there is none.
func (v *Validator) ValidateUpdate(path *field.Path, s *Schema, value any, previous func() any) field.ErrorList {
	errs := v.Validate(path, value)
	if len(errs) == 0 {
		return nil
	}
	old := previous()
	if old == nil {
		return errs
	}
	r := &ratchet{schema: v.schema, structural: s, previous: func(any) (any, bool) { return old, true }, formats: strfmt.Default}
	return fieldErrors(path, r.Validate(value))
}

// ValidateListsUpdate is ValidateLists for a value that replaces another. Where that
// broke the rules already, the new value may do so too.
func ValidateListsUpdate(path *field.Path, s *Schema, value any, previous func() any) field.ErrorList {
	errs := ValidateLists(path, s, value)
	if len(errs) > 0 && len(ValidateLists(path, s, previous())) > 0 {
		return nil
	}
	return errs
}

// ratchet validates a value and those below it, and lets pass what equals its
// predecessor.
type ratchet struct {
	schema     *spec.Schema
	root       any
	path       string
	formats    strfmt.Registry
	structural *Schema
	// previous finds the predecessor of a value.
	previous func(value any) (old any, found bool)
}

var _ validate.ValueValidator = (*ratchet)(nil)

// SetPath implements validate.ValueValidator.
func (r *ratchet) SetPath(path string) { r.path = path }

// Applies implements validate.ValueValidator.
func (r *ratchet) Applies(source any, _ reflect.Kind) bool {
	_, ok := source.(*spec.Schema)
	return ok
}

// Validate implements validate.ValueValidator.
func (r *ratchet) Validate(value any) *validate.Result {
	old, found := r.previous(value)
	if !found {
		return validate.NewSchemaValidator(r.schema, r.root, r.path, r.formats).Validate(value)
	}
	result := validate.NewSchemaValidator(r.schema, r.root, r.path, r.formats, r.below(old)).Validate(value)
	if !result.IsValid() && r.structural.Unchanged(value, old) {
		return &validate.Result{}
	}
	return result
}

// below validates fields and items as successors of those of old.
func (r *ratchet) below(old any) validate.Option {
	fields, _ := old.(map[string]any)
	var find func(any) (any, bool)
	var items *Schema
	if entries, ok := old.([]any); ok && r.structural != nil {
		find, items = r.structural.Correlate(entries), r.structural.Items
	}
	return func(o *validate.SchemaValidatorOptions) {
		o.NewValidatorForField = func(name string, s *spec.Schema, root any, path string, formats strfmt.Registry, _ ...validate.Option) validate.ValueValidator {
			c := &ratchet{schema: s, root: root, path: path, formats: formats}
			if r.structural != nil {
				c.structural, _ = r.structural.child(name)
			}
			c.previous = func(any) (any, bool) { v, ok := fields[name]; return v, ok }
			return c
		}
		o.NewValidatorForIndex = func(_ int, s *spec.Schema, root any, path string, formats strfmt.Registry, _ ...validate.Option) validate.ValueValidator {
			if find == nil {
				return validate.NewSchemaValidator(s, root, path, formats)
			}
			return &ratchet{schema: s, root: root, path: path, formats: formats, structural: items, previous: find}
		}
	}
}

// Unchanged reports whether a value equals the one that it replaces. The entries of
// list maps are compared by their keys, in any order; one that lacks a key equals none.
func (s *Schema) Unchanged(value, old any) bool {
	if s == nil || !s.lists {
		return reflect.DeepEqual(value, old)
	}
	switch x := value.(type) {
	case map[string]any:
		before, ok := old.(map[string]any)
		if !ok || len(x) != len(before) {
			return false
		}
		for name, v := range x {
			child, _ := s.child(name)
			if o, had := before[name]; !had || !child.Unchanged(v, o) {
				return false
			}
		}
		return true
	case []any:
		before, ok := old.([]any)
		if !ok || len(x) != len(before) {
			return false
		}
		find := s.Correlate(before)
		for i, v := range x {
			o, had := before[i], true
			if s.ListType == "map" {
				o, had = find(v)
			}
			if !had || !s.Items.Unchanged(v, o) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(value, old)
}

// Correlate returns a function that finds the old entry of a list map which has the
// keys of a new one. Entries of other lists, and those that lack a key, have no
// predecessors.
func (s *Schema) Correlate(old []any) func(value any) (any, bool) {
	if s.ListType != "map" || len(old) == 0 {
		return func(any) (any, bool) { return nil, false }
	}
	index := make(map[string]any, len(old))
	for _, v := range old {
		index[identityKey(s.keysOf(v))] = v
	}
	return func(v any) (any, bool) {
		keys := s.keysOf(v)
		if len(keys) < len(s.ListMapKeys) {
			return nil, false
		}
		o, ok := index[identityKey(keys)]
		return o, ok
	}
}
