package kind

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/storage/object"
)

// Whole validates new and changed objects alike, and then changes by each of changes.
func Whole[T Object](validate func(T) field.ErrorList,
	changes ...func(obj, old T) field.ErrorList) func(ctx context.Context, obj, old T) field.ErrorList {
	return func(_ context.Context, obj, old T) field.ErrorList { return rules(validate(obj), obj, old, changes) }
}

// OnCreate validates new objects, and changes by each of changes only.
func OnCreate[T Object](validate func(T) field.ErrorList,
	changes ...func(obj, old T) field.ErrorList) func(ctx context.Context, obj, old T) field.ErrorList {
	return func(_ context.Context, obj, old T) field.ErrorList {
		if isNew(old) {
			return validate(obj)
		}
		return rules(nil, obj, old, changes)
	}
}

func rules[T Object](errs field.ErrorList, obj, old T, changes []func(obj, old T) field.ErrorList) field.ErrorList {
	if !isNew(old) {
		for _, validate := range changes {
			errs = append(errs, validate(obj, old)...)
		}
	}
	return errs
}

func isNew[T Object](old T) bool {
	var none T
	return any(old) == any(none)
}

// ValidateFirst returns the errors of a new or changed object that come before those of its metadata.
func (k *Kind[T]) ValidateFirst(obj T) field.ErrorList {
	t, ok := k.Representation.(Typed[T])
	if !ok || t.ValidateFirst == nil {
		return nil
	}
	return t.ValidateFirst(obj)
}

// Validate validates a new object, of which old is nil, or a change. The declaration is a completed one.
func (k *Kind[T]) Validate(ctx context.Context, obj, old T) field.ErrorList {
	var errs field.ErrorList
	if k.Write.Validate != nil {
		errs = k.Write.Validate(ctx, obj, old)
	}
	if k.plan == nil || isNew(old) {
		return errs
	}
	for _, f := range k.plan.immutable {
		v := reflect.ValueOf(obj).Elem().FieldByIndex(f.index)
		before := reflect.ValueOf(old).Elem().FieldByIndex(f.index)
		if object.Equal(v.Addr().Interface(), before.Addr().Interface()) {
			continue
		}
		e := field.Invalid(f.path, nil, apivalidation.FieldImmutableErrorMsg)
		if f.shown {
			e.BadValue = v.Interface()
		}
		errs = append(errs, e)
	}
	return errs
}

// immutable is a field that updates may not change; shown says that errors have its value.
type immutable struct {
	index []int
	path  *field.Path
	shown bool
}

func immutables(t reflect.Type, hub schema.GroupVersionKind, shown, fixed []string) ([]immutable, error) {
	var out []immutable
	for i, path := range slices.Concat(shown, fixed) {
		index := fieldIndex(t, path)
		if index == nil {
			return nil, fmt.Errorf("registry: kind %s has no field %s", hub, path)
		}
		names := strings.Split(path, ".")
		out = append(out, immutable{index: index, path: field.NewPath(names[0], names[1:]...), shown: i < len(shown)})
	}
	return out, nil
}
