package kind

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Show is how objects are shown as rows of a table, beside Kind.Columns.
type Show[T Object] struct {
	// Cells returns the cells of a row: of each column, or of each that has neither Field nor Cell. Ages are left to
	// since, whose result may be a part of a cell's text: rows are encoded once and
	// kept with the object, and an age is of the moment a row is written.
	Cells func(obj T, since func(metav1.Time) string) []any
	// RowConditions, where set, adds conditions to a row (a completed pod).
	RowConditions func(obj T) []metav1.TableRowCondition
	// Compare, where set, is the order of a table's rows, of each page by itself. It is
	// for kinds of few objects: their tables are made of decoded objects.
	Compare func(a, b T) int
}

// Column is a column of a kind's table. Priority above 0 is for "-o wide".
type Column struct {
	// Name is that of the field with a capital letter if it is empty.
	Name, Type, Format string
	// Description of the cells. ".spec.target" stands for the documentation of that field.
	Description string
	Priority    int32
	// Field is the field that the cells show, by its names in JSON joined with dots. Type and Description may be left
	// to it. A time is shown as the time since then, a list of strings by its elements, another list by its length.
	Field string
	// Unset is shown where the field is a pointer to nothing, or an empty string.
	Unset string
	// Cell returns the cell of an object of the kind; see Show.Cells for since.
	Cell func(obj any, since func(metav1.Time) string) any
}

// completeColumns finds the fields that columns show.
func (k *Kind[T]) completeColumns() error {
	k.Columns = slices.Clone(k.Columns)
	for i := range k.Columns {
		c := &k.Columns[i]
		if c.Cell == nil && c.Field == "" && k.Show.Cells == nil {
			return fmt.Errorf("registry: kind %s has columns without cells", k.Hub)
		}
		if path, ok := strings.CutPrefix(c.Description, "."); ok {
			if c.Description = docOf(reflect.TypeFor[T](), path); c.Description == "" {
				return fmt.Errorf("registry: kind %s has no documentation of a field %s", k.Hub, path)
			}
		}
		if c.Cell != nil || c.Field == "" {
			continue
		}
		f, ok := findField(reflect.TypeFor[T](), c.Field)
		if f.unset = c.Unset; !ok || f.columnType() == "" {
			return fmt.Errorf("registry: kind %s has no field %s that a column can show", k.Hub, c.Field)
		}
		name := c.Field[strings.LastIndexByte(c.Field, '.')+1:]
		c.Name = cmp.Or(c.Name, strings.ToUpper(name[:1])+name[1:])
		c.Cell, c.Type, c.Description = f.cell, cmp.Or(c.Type, f.columnType()), cmp.Or(c.Description, f.doc)
	}
	return nil
}

const nameDescription = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"

const createdDescription = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"

// defaultColumns are those of kinds that declare none.
var defaultColumns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: nameDescription},
	{Name: "Created At", Type: "date", Description: createdDescription},
}

// TableColumns returns the columns of the kind, or those of kinds that declare none.
func (k *Kind[T]) TableColumns() []metav1.TableColumnDefinition {
	if k.Columns == nil {
		return defaultColumns
	}
	out := make([]metav1.TableColumnDefinition, len(k.Columns))
	for i, c := range k.Columns {
		out[i] = metav1.TableColumnDefinition{Name: c.Name, Type: c.Type, Format: c.Format, Description: c.Description,
			Priority: c.Priority}
	}
	return out
}

// TableCells returns the cells of a row, whose ages since renders.
func (k *Kind[T]) TableCells(obj T, since func(metav1.Time) string) []any {
	if k.Columns == nil {
		return defaultCells(obj)
	}
	var own []any
	if k.Show.Cells != nil {
		if own = k.Show.Cells(obj, since); len(own) >= len(k.Columns) {
			return own
		}
	}
	cells := make([]any, len(k.Columns))
	for i := range k.Columns {
		if c := &k.Columns[i]; c.Cell != nil {
			cells[i] = c.Cell(obj, since)
		} else if len(own) > 0 {
			cells[i], own = own[0], own[1:]
		}
	}
	return cells
}

// AgeNow returns how long ago a time was, in kubectl's wording.
func AgeNow(t metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t.Time))
}

// defaultCells fill the default columns.
func defaultCells(obj metav1.Object) []any {
	return []any{obj.GetName(), obj.GetCreationTimestamp().UTC().Format(time.RFC3339)}
}
