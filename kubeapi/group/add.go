package group

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/serve/server"
)

// AddGated adds a kind whose feature is on, and otherwise nothing.
func AddGated[T kind.Object](b *Builder, gate string, k kind.Kind[T]) *registry.Store[T] {
	if !b.deps.Gate(gate) {
		return nil
	}
	return Add(b, k)
}

// Add makes the storage of a kind and enters it, with its declared
// subresources, in the versions of the group that serve it. It returns the
// store, for subresources that work on it; after an error, which Info reports,
// it is nil.
func Add[T kind.Object](b *Builder, declared kind.Kind[T]) *registry.Store[T] {
	if b.err != nil {
		return nil
	}
	k := declared.Named(b.deps.Scheme)
	served := b.deps.available(b.Versions(), k.Names.Plural, k.Hub.Kind)
	store, err := server.AddKind(b.GroupBuilder, k, served)
	if err != nil {
		b.err = err
		return nil
	}
	gr := schema.GroupResource{Group: b.group, Resource: k.Names.Plural}
	var r *rest.Resource
	if len(served) > 0 {
		r = b.Get(served[0].Version, k.Names.Plural)
	}
	if r == nil {
		r = store.Resource() // for this server alone
	}
	b.deps.Stores.add(gr, store, r, b.prefix)
	if k.Status != nil && len(served) > 0 {
		b.deps.Stores.keepFields(gr, newStatusFields(&b.deps, served[0], k.Names.Plural, store.Resources))
	}
	return store
}

// GetRESTOptions implements registry.RESTOptionsGetter for the kinds of the group.
func (b *Builder) GetRESTOptions(gr schema.GroupResource) (registry.RESTOptions, error) {
	options, err := b.deps.RESTOptions.GetRESTOptions(gr)
	b.prefix = options.Prefix
	options.DropDisabled, options.DistinctErrors = b.deps.Fields.Drop, true
	if options.StorageVersion == nil {
		options.StorageVersion = b.storageVersionOf
	}
	return options, err
}

// storageVersionOf returns in which version a kind is stored, the hub first among its versions: the preferred
// one that the releases beside this one read. It returns the empty kind where the group does not have the hub.
func (b *Builder) storageVersionOf(versions []schema.GroupVersionKind) schema.GroupVersionKind {
	kinds := slices.DeleteFunc(slices.Clone(versions), func(k schema.GroupVersionKind) bool {
		return !slices.Contains(b.Versions(), k.GroupVersion())
	})
	if len(kinds) == 0 || kinds[0] != versions[0] {
		return schema.GroupVersionKind{}
	}
	slices.SortStableFunc(kinds, func(x, y schema.GroupVersionKind) int {
		return cmp.Compare(slices.Index(b.Versions(), x.GroupVersion()), slices.Index(b.Versions(), y.GroupVersion()))
	})
	return b.deps.storageVersion(kinds)
}
