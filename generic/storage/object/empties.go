package object

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Empties are the lists and maps of a Go type that JSON shows although they are empty, where protobuf cannot tell them
// from absent ones. EmptiesOf finds them once a type, so that writes of most kinds have nothing to look at.
type Empties struct {
	fields []emptiesField
}

type emptiesField struct {
	index []int
	inner *Empties // of the struct, or the elements; nil for the list or map itself
	bytes bool     // a map of bytes, whose null values become empty
}

// EmptiesOf returns nil for a type without any.
func EmptiesOf(t reflect.Type) *Empties {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return findEmpties(t, map[reflect.Type]bool{})
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func findEmpties(t reflect.Type, within map[reflect.Type]bool) *Empties {
	if within[t] || t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		return nil
	}
	within[t] = true
	defer delete(within, t)
	var e Empties
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		ft := f.Type
		switch ft.Kind() {
		case reflect.Slice:
			if ft.Elem().Kind() == reflect.Uint8 {
				continue // bytes keep the difference
			}
			e.add(f.Index, shown(f), StructOf(ft.Elem()), within)
		case reflect.Map:
			e.add(f.Index, shown(f), nil, within)
			if ft.Elem().Kind() == reflect.Slice && ft.Elem().Elem().Kind() == reflect.Uint8 {
				e.fields = append(e.fields, emptiesField{index: f.Index, bytes: true})
			}
		case reflect.Pointer, reflect.Struct:
			e.add(f.Index, false, StructOf(ft), within)
		}
	}
	if len(e.fields) == 0 {
		return nil
	}
	return &e
}

func (e *Empties) add(index []int, shown bool, inner reflect.Type, within map[reflect.Type]bool) {
	if shown {
		e.fields = append(e.fields, emptiesField{index: index})
	}
	if inner == nil {
		return
	}
	if in := findEmpties(inner, within); in != nil {
		e.fields = append(e.fields, emptiesField{index: index, inner: in})
	}
}

// StructOf returns the struct that a type is or points to; nil if it is none.
func StructOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		return t
	}
	return nil
}

// shown reports whether JSON shows a field although it is empty.
func shown(f reflect.StructField) bool {
	tag := f.Tag.Get("json")
	return tag != "-" && !strings.Contains(tag, ",omitempty") && !strings.Contains(tag, ",inline")
}

// Clear makes empty lists and maps nil.
func (e *Empties) Clear(v reflect.Value) {
	for _, f := range e.fields {
		field := v.FieldByIndex(f.index)
		if f.bytes {
			fillBytes(field)
			continue
		}
		if f.inner == nil {
			if field.Len() == 0 && !field.IsNil() {
				field.SetZero()
			}
			continue
		}
		if field.Kind() != reflect.Slice {
			f.inner.clearPointed(field)
			continue
		}
		for i := range field.Len() {
			f.inner.clearPointed(field.Index(i))
		}
	}
}

// fillBytes makes null values of a map of bytes empty ones.
func fillBytes(m reflect.Value) {
	for it := m.MapRange(); it.Next(); {
		if it.Value().IsNil() {
			m.SetMapIndex(it.Key(), reflect.MakeSlice(m.Type().Elem(), 0, 0))
		}
	}
}

func (e *Empties) clearPointed(v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	e.Clear(v)
}
