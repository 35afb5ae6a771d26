package show

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/api/kind"
)

// Documented is a k8s.io/api type that carries the documentation of its fields.
type Documented interface{ SwaggerDoc() map[string]string }

// Doc returns the documentation of a field by its JSON name.
func Doc(of Documented, name string) string { return of.SwaggerDoc()[name] }

// Name is the first column of nearly every table.
func Name() kind.Column {
	return kind.Column{Name: "Name", Type: "string", Format: "name", Description: Doc(metav1.ObjectMeta{}, "name"),
		Cell: func(obj any, _ func(metav1.Time) string) any { return obj.(metav1.Object).GetName() }}
}

// NameOrDefault is the column of names that shows which class an annotation, of one of the groups, makes the default.
func NameOrDefault(groups ...string) kind.Column {
	c := Name()
	c.Cell = func(obj any, _ func(metav1.Time) string) any {
		o := obj.(metav1.Object)
		for _, g := range groups {
			if o.GetAnnotations()[g+"/is-default-class"] == "true" {
				return o.GetName() + " (default)"
			}
		}
		return o.GetName()
	}
	return c
}

// Age is the column of the time since the object was created.
func Age() kind.Column {
	return kind.Column{Name: "Age", Type: "string", Description: Doc(metav1.ObjectMeta{}, "creationTimestamp"),
		Cell: func(obj any, since func(metav1.Time) string) any {
			return since(obj.(metav1.Object).GetCreationTimestamp())
		}}
}

// Columns are columns between those of the name and the age. Wide ones follow the age.
func Columns(own ...kind.Column) []kind.Column {
	columns := slices.Concat([]kind.Column{Name()}, own, []kind.Column{Age()})
	slices.SortStableFunc(columns, func(a, b kind.Column) int { return cmp.Compare(a.Priority, b.Priority) })
	return columns
}

// Field is the column of a field, with its documentation unless there is another description (kind.Column).
func Field(name, path string, description ...string) kind.Column {
	return kind.Column{Name: name, Field: path, Description: strings.Join(description, "")}
}

// Path is the column of a field, with its name and documentation.
func Path(path string) kind.Column { return kind.Column{Field: path} }

// FieldOr is the column of a field with another text where it is not set.
func FieldOr(name, path, unset string, description ...string) kind.Column {
	c := Field(name, path, description...)
	c.Unset = unset
	return c
}

// Cell is a column of what a function returns.
func Cell[T kind.Object, V string | int64 | bool](name, description string, cell func(T) V) kind.Column {
	c := kind.Column{Name: name, Type: "string", Description: description,
		Cell: func(obj any, _ func(metav1.Time) string) any { return cell(obj.(T)) }}
	switch any(*new(V)).(type) {
	case int64:
		c.Type = "integer"
	case bool:
		c.Type = "boolean"
	}
	return c
}

// AsText makes the column of a number or a truth value one of text.
func AsText(c kind.Column) kind.Column {
	c.Type = "string"
	return c
}

// Text is a column of text.
func Text(name, description string) kind.Column {
	return kind.Column{Name: name, Type: "string", Description: description}
}

// Wide makes a column one that "-o wide" alone shows.
func Wide(c kind.Column) kind.Column {
	c.Priority = 1
	return c
}

// None and Unset are how kubectl shows what is not there.
const (
	None  = "<none>"
	Unset = "<unset>"
)

// OrNone returns a text, or "<none>" for an empty one.
func OrNone(text string) string {
	if text == "" {
		return None
	}
	return text
}
