package check

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rules are validation that k8s.io/api generates from the markers of a type.
type Rules[T any] func(context.Context, operation.Operation, *field.Path, *T, *T) field.ErrorList

// Declared adds what the markers of a type find to the errors of rules written here, and drops those of the same
// kind about the same field: they are said by the markers. A nil old is that of a new object.
func Declared[T any](ctx context.Context, errs field.ErrorList, rules Rules[T], path *field.Path, obj, old *T,
	subresources ...string) field.ErrorList {
	op := operation.Operation{Type: operation.Create, Request: operation.Request{Subresources: subresources},
		// Fields of features that are off are dropped before.
		Options: map[string]bool{"CompositePodGroup": true, "DRAPartitionableDevicesType": true,
			"PodGroupPreemptionPolicy": true, "TopologyAwareWorkloadScheduling": true}}
	if old != nil {
		op.Type = operation.Update
	}
	found := validate.FilterEnforcedDeclarativeErrors(ctx, rules(ctx, op, path, obj, old), true)
	if len(found) == 0 {
		return errs
	}
	errs = slices.DeleteFunc(errs, func(e *field.Error) bool {
		return slices.ContainsFunc(found, func(d *field.Error) bool { return d.Type == e.Type && d.Field == e.Field })
	})
	return append(errs, found...)
}
