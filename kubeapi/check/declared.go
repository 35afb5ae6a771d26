package check

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rules are validation that k8s.io/api generates from the markers of a type.
type Rules[T any] func(context.Context, operation.Operation, *field.Path, *T, *T) field.ErrorList

// Declared is an object, or a part of one, with the rules that its markers declare. A nil Old is that of a new object.
type Declared[T any] struct {
	Rules        Rules[T]
	Path         *field.Path
	Object, Old  *T
	Subresources []string
}

// Add adds what the markers find to the errors of rules written here, and drops those of the same kind about the same
// field: the markers report them.
func (d Declared[T]) Add(ctx context.Context, errs field.ErrorList) field.ErrorList {
	op := operation.Operation{Type: operation.Create, Request: operation.Request{Subresources: d.Subresources},
		// Fields of features that are off are dropped before.
		Options: map[string]bool{"CompositePodGroup": true, "DRAPartitionableDevicesType": true,
			"PodGroupPreemptionPolicy": true, "TopologyAwareWorkloadScheduling": true}}
	if d.Old != nil {
		op.Type = operation.Update
	}
	found := validate.FilterEnforcedDeclarativeErrors(ctx, d.Rules(ctx, op, d.Path, d.Object, d.Old), true)
	if len(found) == 0 {
		return errs
	}
	sortEntries(found)
	errs = slices.DeleteFunc(errs, func(e *field.Error) bool {
		return slices.ContainsFunc(found, func(d *field.Error) bool { return d.Type == e.Type && d.Field == e.Field })
	})
	return append(errs, found...)
}

// Markers validates objects by validate, and their field of a name (Spec or Status) by the rules that its markers
// declare.
func Markers[T, P any](name string, rules Rules[P],
	validate func(ctx context.Context, obj, old *T) field.ErrorList) func(ctx context.Context, obj,
	old *T) field.ErrorList {
	d := Declared[P]{Rules: rules, Path: field.NewPath(strings.ToLower(name))}
	if name == "Status" {
		d.Subresources = []string{"status"}
	}
	part := func(obj *T) *P { return reflect.ValueOf(obj).Elem().FieldByName(name).Addr().Interface().(*P) }
	return func(ctx context.Context, obj, old *T) field.ErrorList {
		d := d
		if d.Object = part(obj); old != nil {
			d.Old = part(old)
		}
		var errs field.ErrorList
		if validate != nil {
			errs = validate(ctx, obj, old)
		}
		return d.Add(ctx, errs)
	}
}

// sortEntries orders errors about the entries of a map by their keys; they come in no order.
func sortEntries(errs field.ErrorList) {
	for i := 0; i < len(errs); {
		at, end := entriesOf(errs[i].Field), i+1
		for at != "" && end < len(errs) && entriesOf(errs[end].Field) == at {
			end++
		}
		if at != "" {
			slices.SortStableFunc(errs[i:end], func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
		}
		i = end
	}
}

// entriesOf returns the path of the map that a field is in; "" if it is in none.
func entriesOf(path string) string {
	for i := range len(path) - 1 {
		if path[i] == '[' && (path[i+1] < '0' || path[i+1] > '9') {
			return path[:i]
		}
	}
	return ""
}
