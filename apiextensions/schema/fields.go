package schema

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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

// ParseFieldPath splits a path of names after dots; names that are no
// identifiers stand in brackets and quotes: ".spec['a-b']".
func ParseFieldPath(p string) ([]string, error) {
	var names []string
	for rest := p; rest != ""; {
		switch rest[0] {
		case '.':
			if rest = rest[1:]; rest == "" && (len(names) == 0 || names[len(names)-1] != "") {
				return nil, fmt.Errorf("unexpected end of JSON path")
			}
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			names, rest = append(names, rest[:end]), rest[end:]
		case '[':
			if !strings.HasPrefix(rest, "['") {
				return nil, fmt.Errorf("array notation is not allowed")
			}
			end := strings.Index(rest, "']")
			if end < 0 {
				return nil, fmt.Errorf("unterminated name: %s", rest)
			}
			names, rest = append(names, strings.NewReplacer(`\'`, `'`, `\\`, `\`).Replace(rest[2:end])), rest[end+2:]
		default:
			word := rest
			if end := strings.IndexAny(rest, ".["); end >= 0 {
				word = rest[:end]
			}
			return nil, fmt.Errorf("expected [ or . but got: %s", word)
		}
	}
	return names, nil
}

// ValidateSimplePath returns what keeps a text from being a simple path.
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

// Walk calls f for a schema and all schemas within it, which are good until f returns.
func Walk(p *apiextensionsv1.JSONSchemaProps, f func(*apiextensionsv1.JSONSchemaProps)) {
	if p == nil {
		return
	}
	f(p)
	if p.Items != nil {
		Walk(p.Items.Schema, f)
	}
	if p.AdditionalProperties != nil {
		Walk(p.AdditionalProperties.Schema, f)
	}
	if len(p.Properties) > 0 {
		var c apiextensionsv1.JSONSchemaProps // a single one, as it is large
		for name := range p.Properties {
			c = p.Properties[name]
			Walk(&c, f)
		}
	}
	for _, list := range [][]apiextensionsv1.JSONSchemaProps{p.AllOf, p.AnyOf, p.OneOf} {
		for i := range list {
			Walk(&list[i], f)
		}
	}
	Walk(p.Not, f)
}
