package group

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/api/registry"
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
	options.DropDisabled = b.deps.Fields.Drop
	if options.StorageVersion == nil {
		options.StorageVersion = b.storageVersionOf
	}
	store, err := registry.NewStore(&kind, b.deps.Scheme, options)
	if err != nil {
		b.err = fmt.Errorf("%s: %w", gr, err)
		return nil
	}
	served := b.deps.available(b.versions, kind.Names.Plural, kind.Hub.Kind)
	// Versions of another group are served by that group: events are.
	store.ServeOnly(func(gv schema.GroupVersion) bool { return gv.Group != b.group || slices.Contains(served, gv) })
	for _, gv := range served {
		for name, st := range store.Resources(gv) {
			b.storage[gv.Version][name] = st
		}
	}
	b.deps.Stores.add(gr, store)
	if kind.Status != nil && len(served) > 0 {
		b.deps.Stores.keepFields(gr, newStatusFields(&b.deps, served[0], kind.Names.Plural, store.Resources))
	}
	return store
}

// storageVersionOf returns in which version a kind is stored, the hub first among its versions: the preferred
// one that the releases beside this one read. It returns the empty kind where the group does not have the hub.
func (b *Builder) storageVersionOf(versions []schema.GroupVersionKind) schema.GroupVersionKind {
	kinds := slices.DeleteFunc(slices.Clone(versions), func(k schema.GroupVersionKind) bool {
		return !slices.Contains(b.versions, k.GroupVersion())
	})
	if len(kinds) == 0 || kinds[0] != versions[0] {
		return schema.GroupVersionKind{}
	}
	slices.SortStableFunc(kinds, func(x, y schema.GroupVersionKind) int {
		return cmp.Compare(slices.Index(b.versions, x.GroupVersion()), slices.Index(b.versions, y.GroupVersion()))
	})
	return b.deps.storageVersion(kinds)
}
