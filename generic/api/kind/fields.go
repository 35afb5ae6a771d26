package kind

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// goField is a field of a Go struct, found by its names in JSON joined with dots.
type goField struct {
	index []int
	t     reflect.Type
	doc   string
	// behind is true where a pointer leads to it.
	behind bool
	unset  string // Column.Unset
}

// findField finds a field of a struct, or of one that pointers lead to.
func findField(t reflect.Type, path string) (goField, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	f := goField{}
	if t.Kind() == reflect.Pointer {
		t, f.behind = t.Elem(), true
	}
	if t.Kind() != reflect.Struct {
		return f, false
	}
	i, ok := indexOf(t, name)
	if !ok {
		return f, false
	}
	f.index, f.t = []int{i}, t.Field(i).Type
	if !deeper {
		f.doc = fieldDoc(t, i)
		return f, true
	}
	inner, ok := findField(f.t, rest)
	inner.index, inner.behind = append(f.index, inner.index...), f.behind || inner.behind
	return inner, ok
}

// indexOf returns the index of the field of a struct with a name in JSON.
func indexOf(t reflect.Type, name string) (int, bool) {
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name {
			return i, true
		}
	}
	return 0, false
}

// docOf returns the documentation of a field of a struct, or of one that pointers and lists lead to; "" without one.
func docOf(t reflect.Type, path string) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return ""
	}
	name, rest, deeper := strings.Cut(path, ".")
	i, ok := indexOf(t, name)
	switch {
	case !ok:
		return ""
	case deeper:
		return docOf(t.Field(i).Type, rest)
	default:
		return fieldDoc(t, i)
	}
}

// fieldDoc is the documentation of a field, by the struct or by the tag doc.
func fieldDoc(within reflect.Type, field int) string {
	tag := within.Field(field).Tag
	if d, ok := reflect.Zero(within).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		return d.SwaggerDoc()[name]
	}
	return tag.Get("doc")
}

// fieldIndex is nil where there is no such field, or one behind a pointer.
func fieldIndex(t reflect.Type, path string) []int {
	if f, ok := findField(t, path); ok && !f.behind {
		return f.index
	}
	return nil
}

// of returns the value of the field, through pointers. It is not valid where one is nil.
func (f goField) of(obj any) reflect.Value {
	v := reflect.ValueOf(obj)
	for _, i := range f.index {
		if v.IsNil() {
			return reflect.Value{}
		}
		if v = v.Elem().Field(i); v.Kind() != reflect.Pointer {
			v = v.Addr()
		}
	}
	return v.Elem() // not valid for a nil pointer
}

// text is a struct that is a text in JSON (IntOrString).
type text interface {
	fmt.Stringer
	json.Marshaler
}

// columnType is the type of the column that shows the field; "" if none can.
func (f goField) columnType() string {
	t := f.value().Type()
	switch {
	case f.unset != "", t == reflect.TypeFor[metav1.LabelSelector](), t == reflect.TypeFor[map[string]string](),
		t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String,
		reflect.PointerTo(t).Implements(reflect.TypeFor[text]()):
		return "string"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int32, reflect.Int64, reflect.Slice, reflect.Map:
		return "integer"
	default:
		return ""
	}
}

// value returns a new value of the field's type, or of the type that it points to.
func (f goField) value() reflect.Value {
	t := f.t
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return reflect.New(t).Elem()
}

// cell is how a table shows the field. One that is not there is shown as Unset or its zero value.
func (f goField) cell(obj any, since func(metav1.Time) string) any {
	v := f.of(obj)
	switch {
	case v.IsValid():
	case f.unset != "":
		return f.unset
	default:
		v = f.value()
	}
	switch x := v.Addr().Interface().(type) {
	case *metav1.Time:
		return since(*x)
	case *metav1.LabelSelector:
		return metav1.FormatLabelSelector(x)
	case *map[string]string:
		return labels.FormatLabels(*x)
	case text:
		own := f.value() // since a quantity stores its text
		own.Set(v)
		return own.Addr().Interface().(text).String()
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool()
	case reflect.Int32, reflect.Int64:
		return v.Int()
	case reflect.Map:
		return int64(v.Len())
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.String {
			return int64(v.Len())
		}
		texts := make([]string, v.Len())
		for i := range texts {
			texts[i] = v.Index(i).String()
		}
		return cmp.Or(strings.Join(texts, ","), f.unset)
	default:
		if f.t.Kind() == reflect.Pointer {
			return v.String()
		}
		return cmp.Or(v.String(), f.unset)
	}
}

// completeFields finds the fields whose values a declaration leaves to their paths.
func completeFields[T Object](declared []SelectableField[T], hub schema.GroupVersionKind) ([]SelectableField[T],
	error) {
	fields := slices.Clone(declared)
	for i := range fields {
		if fields[i].Get != nil {
			continue
		}
		path := fields[i].Path
		if len(fields[i].Reads) == 1 {
			path = fields[i].Reads[0]
		}
		f, ok := findField(reflect.TypeFor[T](), path)
		if !ok {
			return nil, fmt.Errorf("registry: kind %s has no field %s", hub, path)
		}
		fields[i].Get = func(obj T) string { return f.text(obj) }
	}
	return fields, nil
}

// text is the value of the field as selectors name it, "" where it is not there.
func (f goField) text(obj any) string {
	switch v := f.of(obj); v.Kind() {
	case reflect.Invalid:
		return ""
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	default:
		return v.String()
	}
}
