package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
)

// Modify changes an object for the server itself, by the rules of a subresource
// (nil for the main resource): pods/binding, eviction. change may be called
// several times, each time on a new copy.
func (s *Store[T]) Modify(ctx context.Context, name string, sub *UpdateSubresource[T], dryRun bool,
	change func(T) error) (T, error) {
	return s.Replace(ctx, name, sub, dryRun, func(obj T) (T, error) { return obj, change(obj) })
}

// Replace is Modify with a change that may return another object.
func (s *Store[T]) Replace(ctx context.Context, name string, sub *UpdateSubresource[T], dryRun bool,
	change func(T) (T, error)) (T, error) {
	var none T
	u := &update[T]{store: s, sub: sub, dryRun: dryRun, UpdateRequest: rest.UpdateRequest{Name: name,
		Change: func(_ context.Context, old runtime.Object) (runtime.Object, error) {
			obj, ok := old.DeepCopyObject().(T)
			if !ok {
				return nil, errNotOfKind(old, s.kind.Hub)
			}
			return change(obj)
		}}}
	updated, _, err := u.run(ctx)
	if err != nil {
		return none, err
	}
	return s.objectOf(updated)
}

// Read returns an object, decoded, in the context's namespace.
func (s *Store[T]) Read(ctx context.Context, name string) (T, error) {
	var none T
	key, err := s.requestKey(ctx, name)
	if err != nil {
		return none, err
	}
	r, err := s.get(ctx, key, name, "")
	if err != nil {
		return none, err
	}
	return s.decode(r)
}

// requestKey is where the object is that a request names.
func (s *Store[T]) requestKey(ctx context.Context, name string) (string, error) {
	return s.key(request.NamespaceFrom(ctx), name)
}
