package kind

import (
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
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag != name {
			continue
		}
		f.index, f.t = []int{i}, t.Field(i).Type
		if !deeper {
			f.doc = fieldDoc(t, t.Field(i), name)
			return f, true
		}
		inner, ok := findField(f.t, rest)
		inner.index, inner.behind = append(f.index, inner.index...), f.behind || inner.behind
		return inner, ok
	}
	return f, false
}

// fieldDoc is the documentation of a field, by the struct or by the tag doc.
func fieldDoc(within reflect.Type, f reflect.StructField, name string) string {
	if d, ok := reflect.Zero(within).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		return d.SwaggerDoc()[name]
	}
	return f.Tag.Get("doc")
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

// columnType is the type of the column that shows the field; "" if none can.
func (f goField) columnType() string {
	t := f.t
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.LabelSelector](), reflect.TypeFor[map[string]string]():
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

// cell is how a table shows the field. One that is not there is shown as its zero value.
func (f goField) cell(obj any, since func(metav1.Time) string) any {
	v := f.of(obj)
	if !v.IsValid() {
		t := f.t
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		v = reflect.New(t).Elem()
	}
	switch x := v.Addr().Interface().(type) {
	case *metav1.Time:
		return since(*x)
	case *metav1.LabelSelector:
		return metav1.FormatLabelSelector(x)
	case *map[string]string:
		return labels.FormatLabels(*x)
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool()
	case reflect.Int32, reflect.Int64:
		return v.Int()
	case reflect.Slice, reflect.Map:
		return int64(v.Len())
	default:
		return v.String()
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
