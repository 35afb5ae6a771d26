package resource

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rules are validation that k8s.io/api generates from the markers of a type.
type rules[T any] func(context.Context, operation.Operation, *field.Path, *T, *T) field.ErrorList

// declared is an object, or a part of one, with the rules that its markers declare. A nil old is that of a new object.
type declared[T any] struct {
	rules        rules[T]
	path         *field.Path
	obj, old     *T
	subresources []string
}

// add adds what the markers find to the errors of rules written here, and drops those of the same kind about the same
// field: the markers report them.
func (d declared[T]) add(ctx context.Context, errs field.ErrorList) field.ErrorList {
	op := operation.Operation{Type: operation.Create, Request: operation.Request{Subresources: d.subresources},
		// Fields of features that are off are dropped before.
		Options: map[string]bool{"DRAPartitionableDevicesType": true}}
	if d.old != nil {
		op.Type = operation.Update
	}
	found := validate.FilterEnforcedDeclarativeErrors(ctx, d.rules(ctx, op, d.path, d.obj, d.old), true)
	if len(found) == 0 {
		return errs
	}
	errs = slices.DeleteFunc(errs, func(e *field.Error) bool {
		return slices.ContainsFunc(found, func(d *field.Error) bool { return d.Type == e.Type && d.Field == e.Field })
	})
	return append(errs, found...)
}
