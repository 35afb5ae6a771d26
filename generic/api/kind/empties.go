package kind

import (
	"encoding/json"
	"reflect"
	"strings"
)

// empties is where, in a Go type, lists and maps are that JSON shows although
// they are empty. It is found out once a kind, so that writes of most kinds have
// nothing to look at.
type empties struct {
	fields []emptiesField
}

type emptiesField struct {
	index []int
	inner *empties // of the struct, or the elements; nil for the list or map itself
	bytes bool     // a map of bytes, whose null values become empty
}

// emptiesOf looks through a kind's Go type; nil where there are none.
func emptiesOf(t reflect.Type) *empties {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return findEmpties(t, map[reflect.Type]bool{})
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func findEmpties(t reflect.Type, within map[reflect.Type]bool) *empties {
	if within[t] || t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		return nil
	}
	within[t] = true
	defer delete(within, t)
	var e empties
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
			e.add(f.Index, shown(f), structOf(ft.Elem()), within)
		case reflect.Map:
			e.add(f.Index, shown(f), nil, within)
			if ft.Elem().Kind() == reflect.Slice && ft.Elem().Elem().Kind() == reflect.Uint8 {
				e.fields = append(e.fields, emptiesField{index: f.Index, bytes: true})
			}
		case reflect.Pointer, reflect.Struct:
			e.add(f.Index, false, structOf(ft), within)
		}
	}
	if len(e.fields) == 0 {
		return nil
	}
	return &e
}

func (e *empties) add(index []int, shown bool, inner reflect.Type, within map[reflect.Type]bool) {
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

// structOf returns the struct that a type is or points to.
func structOf(t reflect.Type) reflect.Type {
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

// clear makes empty lists and maps nil.
func (e *empties) clear(v reflect.Value) {
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

func (e *empties) clearPointed(v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	e.clear(v)
}
