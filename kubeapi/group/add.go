package group

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/registry"
)

// Add makes the storage of a kind and enters it, with its declared
// subresources, in the versions of the group that serve it. It returns the
// store, for subresources that work on it; after an error, which Info reports,
// it is nil.
func Add[T registry.Object](b *Builder, kind registry.Kind[T]) *registry.Store[T] {
	if b.err != nil {
		return nil
	}
	gr := schema.GroupResource{Group: b.group, Resource: kind.Names.Plural}
	options, err := b.deps.RESTOptions.GetRESTOptions(gr)
	if err != nil {
		b.err = err
		return nil
	}
	store, err := registry.NewStore(&kind, b.deps.Scheme, options)
	if err != nil {
		b.err = fmt.Errorf("%s: %w", gr, err)
		return nil
	}
	for _, gv := range b.versions {
		for name, st := range store.Storage(gv) {
			b.storage[gv.Version][name] = st
		}
	}
	b.deps.Stores.Put(gr, store)
	return store
}
