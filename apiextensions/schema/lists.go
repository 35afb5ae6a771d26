package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateLists finds entries of sets, and keys of list maps, that are there
// twice.
func ValidateLists(path *field.Path, s *Schema, v any) field.ErrorList {
	if s == nil || !s.lists {
		return nil
	}
	var errs field.ErrorList
	switch x := v.(type) {
	case map[string]any:
		for name, v := range x {
			if p, ok := s.Properties[name]; ok {
				errs = append(errs, ValidateLists(path.Child(name), p, v)...)
			} else if s.Additional != nil {
				errs = append(errs, ValidateLists(path.Key(name), s.Additional, v)...)
			}
		}
	case []any:
		switch s.ListType {
		case "set":
			errs = append(errs, duplicates(path, x, func(v any) any { return v })...)
		case "map":
			errs = append(errs, s.duplicateKeys(path, x)...)
		}
		for i, v := range x {
			errs = append(errs, ValidateLists(path.Index(i), s.Items, v)...)
		}
	}
	return errs
}

// duplicateKeys compares the entries of a list map, unless one of them has no keys.
func (s *Schema) duplicateKeys(path *field.Path, items []any) field.ErrorList {
	for i, v := range items {
		if _, ok := v.(map[string]any); !ok && v != nil {
			return field.ErrorList{field.Invalid(path.Index(i), v, "must be an object for an array of list-type map")}
		}
	}
	return duplicates(path, items, func(v any) any { return s.keysOf(v) })
}

// keysOf is the part of a list map's entry that has to be unique.
func (s *Schema) keysOf(v any) map[string]any {
	entry, _ := v.(map[string]any)
	keys := make(map[string]any, len(s.ListMapKeys))
	for _, k := range s.ListMapKeys {
		if v, found := entry[k]; found {
			keys[k] = v
		}
	}
	return keys
}

// duplicates reports the second of equal identities, and not the third and so
// on.
func duplicates(path *field.Path, items []any, identity func(any) any) field.ErrorList {
	if len(items) < 2 {
		return nil
	}
	var errs field.ErrorList
	seen := make(map[string]int, len(items))
	for i, item := range items {
		id := identity(item)
		key := identityKey(id)
		seen[key]++
		if seen[key] == 2 {
			errs = append(errs, field.Duplicate(path.Index(i), id))
		}
	}
	return errs
}

// identityKey is the same for equal values. Numbers written with and without a fraction are not
// equal.
func identityKey(v any) string {
	switch x := v.(type) {
	case string:
		return "s" + x
	case int64:
		return "i" + strconv.FormatInt(x, 10)
	}
	return string(appendIdentity(nil, v))
}

func appendIdentity(dst []byte, v any) []byte {
	switch x := v.(type) {
	case map[string]any:
		dst = append(dst, '{')
		for _, name := range slices.Sorted(maps.Keys(x)) {
			dst = append(appendIdentity(append(strconv.AppendQuote(dst, name), ':'), x[name]), ',')
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for _, item := range x {
			dst = append(appendIdentity(dst, item), ',')
		}
		return append(dst, ']')
	case string:
		return strconv.AppendQuote(dst, x)
	case float64:
		return strconv.AppendFloat(append(dst, 'f'), x, 'g', -1, 64)
	}
	return fmt.Append(dst, v) // whole numbers, booleans and null
}
