package group

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/registry"
)

type privilegedKey struct{}

// WithPrivileged returns a context in which pods may have privileged containers
// (--allow-privileged).
func WithPrivileged(ctx context.Context) context.Context {
	return context.WithValue(ctx, privilegedKey{}, true)
}

// PrivilegedAllowed tells whether pods may have privileged containers.
func PrivilegedAllowed(ctx context.Context) bool {
	allowed, _ := ctx.Value(privilegedKey{}).(bool)
	return allowed
}

// privileged has a kind validated where privileged containers are allowed.
func privileged[T registry.Object](k registry.Kind[T]) registry.Kind[T] {
	if validate := k.Validate; validate != nil {
		k.Validate = func(ctx context.Context, obj T) field.ErrorList { return validate(WithPrivileged(ctx), obj) }
	}
	k.ValidateUpdate = privilegedUpdate(k.ValidateUpdate)
	subresources := make(map[string]*registry.UpdateSubresource[T], len(k.Subresources))
	for name, s := range k.Subresources {
		sub := *s
		sub.ValidateUpdate = privilegedUpdate(sub.ValidateUpdate)
		subresources[name] = &sub
	}
	k.Subresources = subresources
	return k
}

func privilegedUpdate[T registry.Object](validate func(context.Context, T, T) field.ErrorList) func(context.Context, T, T) field.ErrorList {
	if validate == nil {
		return nil
	}
	return func(ctx context.Context, obj, old T) field.ErrorList { return validate(WithPrivileged(ctx), obj, old) }
}
