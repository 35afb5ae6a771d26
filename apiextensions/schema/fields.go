package schema

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// At finds the schema of the value that a simple path names, such as
// ".spec.nodeName"; nil where there is none.
func (s *Schema) At(path []string) *Schema {
	for _, name := range path {
		if s == nil {
			return nil
		}
		if p, ok := s.Properties[name]; ok {
			s = p
		} else {
			s = s.Additional
		}
	}
	return s
}

// SimplePath reads a path of names after dots, ".spec.replicas".
func SimplePath(path string) []string {
	path = strings.TrimPrefix(path, ".")
	if path == "" {
		return nil
	}
	return strings.Split(path, ".")
}

// ValidateSimplePath tells what keeps a text from being a simple path.
func ValidateSimplePath(at *field.Path, path string) field.ErrorList {
	switch {
	case path == "":
		return field.ErrorList{field.Invalid(at, path, "must not be empty")}
	case path[0] != '.':
		return field.ErrorList{field.Invalid(at, path, "must be a simple json path starting with .")}
	}
	return nil
}

// Lookup returns the value at a path of names, and whether it is there.
func Lookup(obj map[string]any, path []string) (any, bool) {
	var v any = obj
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[name]; !ok {
			return nil, false
		}
	}
	return v, true
}
