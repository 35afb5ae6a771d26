package schema

import "k8s.io/apimachinery/pkg/runtime"

// Default fills in what is missing, or null where null is not allowed.
func Default(v any, s *Schema) {
	if s == nil || !s.defaults {
		return
	}
	switch x := v.(type) {
	case map[string]any:
		for name, p := range s.Properties {
			if !p.HasDefault {
				continue
			}
			if v, found := x[name]; !found || v == nil && !p.Nullable {
				x[name] = runtime.DeepCopyJSONValue(p.Default)
			}
		}
		for name := range x {
			c, _ := s.child(name)
			if c == nil {
				continue
			}
			if x[name] == nil && !c.Nullable && c.HasDefault {
				x[name] = runtime.DeepCopyJSONValue(c.Default)
			}
			Default(x[name], c)
		}
	case []any:
		if s.Items == nil {
			return
		}
		for i := range x {
			if x[i] == nil && !s.Items.Nullable && s.Items.HasDefault {
				x[i] = runtime.DeepCopyJSONValue(s.Items.Default)
			}
			Default(x[i], s.Items)
		}
	}
}

// DropNulls removes properties that are null where the schema does not allow
// it and no default takes their place.
func DropNulls(v any, s *Schema) {
	if s == nil || s.KeepNulls {
		return
	}
	switch x := v.(type) {
	case map[string]any:
		for name, v := range x {
			c, _ := s.child(name)
			if c == nil {
				continue
			}
			if v == nil && !c.Nullable && !c.HasDefault {
				delete(x, name)
				continue
			}
			DropNulls(v, c)
		}
	case []any:
		for _, v := range x {
			DropNulls(v, s.Items)
		}
	}
}
