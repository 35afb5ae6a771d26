package group

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/registry"
)

// AddGated adds a kind whose feature is on, and otherwise nothing.
func AddGated[T registry.Object](b *Builder, gate string, kind registry.Kind[T]) *registry.Store[T] {
	if !b.deps.Gate(gate) {
		return nil
	}
	return Add(b, kind)
}

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
	store.ServeOnly(func(gv schema.GroupVersion) bool { return b.deps.serves(gv, kind.Names.Plural) })
	for _, gv := range b.versions {
		if !b.deps.serves(gv, kind.Names.Plural) {
			continue
		}
		for name, st := range store.Storage(gv) {
			b.storage[gv.Version][name] = st
		}
	}
	b.deps.Stores.Put(gr, store)
	return store
}
