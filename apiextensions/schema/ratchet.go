package schema

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// ValidateUpdate returns what is wrong with a value at the path that replaces old,
// except for what was there before (KEP-4008): the parts of it that did not change
// are valid. s is the structural form of the validator's schema. previous is asked
// for the old value where that matters, and returns nil where there is none.
func (v *Validator) ValidateUpdate(ctx context.Context, path *field.Path, s *Schema, value any,
	previous func() any) field.ErrorList {
	errs := v.Validate(ctx, path, value)
	if len(errs) == 0 {
		return nil
	}
	old := previous()
	if old == nil {
		return errs
	}
	n := &runNode{run: &run{ctx: ctx, formats: strfmt.Default}, schema: v.schema, structural: s}
	n.previous = func(any) (any, bool) { return old, true }
	return n.validate(path, value)
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
