package schema

import "k8s.io/apimachinery/pkg/runtime"

// maxDefaults bounds the JSON text of the defaults of one object, which is more than storage
// takes of an object.
const maxDefaults = 8 << 20

// Default fills in what is missing, or null where null is not allowed. Defaults beyond maxDefaults
// are left out: the object is too large for storage without them.
func Default(v any, s *Schema) { (&defaulter{left: maxDefaults}).value(v, s) }

type defaulter struct{ left int }

// of returns a copy of a schema's default.
func (d *defaulter) of(s *Schema, name string) (v any, ok bool) {
	if d.left -= s.defaultSize + len(name); d.left < 0 {
		return nil, false
	}
	return runtime.DeepCopyJSONValue(s.Default), true
}

func (d *defaulter) value(v any, s *Schema) {
	if s == nil || !s.defaults {
		return
	}
	switch x := v.(type) {
	case map[string]any:
		d.object(x, s)
	case []any:
		if s.Items == nil {
			return
		}
		for i := range x {
			if x[i] == nil && !s.Items.Nullable && s.Items.HasDefault {
				if v, ok := d.of(s.Items, ""); ok {
					x[i] = v
				}
			}
			d.value(x[i], s.Items)
		}
	}
}

func (d *defaulter) object(x map[string]any, s *Schema) {
	for name, p := range s.Properties {
		if !p.HasDefault {
			continue
		}
		if v, found := x[name]; !found || v == nil && !p.Nullable {
			if v, ok := d.of(p, name); ok {
				x[name] = v
			}
		}
	}
	for name := range x {
		c, _ := s.child(name)
		if c == nil {
			continue
		}
		if x[name] == nil && !c.Nullable && c.HasDefault {
			if v, ok := d.of(c, ""); ok {
				x[name] = v
			}
		}
		d.value(x[name], c)
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
