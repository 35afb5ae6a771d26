package group

import (
	"cmp"
	"context"
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
	keepFor(b, &kind)
	forgetFor(b, &kind)
	allowFor(b, &kind)
	store, err := registry.NewStore(&kind, b.deps.Scheme, options)
	if err != nil {
		b.err = fmt.Errorf("%s: %w", gr, err)
		return nil
	}
	served := b.deps.available(b.versions, kind.Names.Plural, kind.Hub.Kind)
	// Versions of another group are served by that group: events are.
	store.ServeOnly(func(gv schema.GroupVersion) bool { return gv.Group != b.group || slices.Contains(served, gv) })
	for _, gv := range served {
		for name, st := range store.Storage(gv) {
			b.storage[gv.Version][name] = st
		}
	}
	b.deps.Stores.Put(gr, store)
	if kind.Status != nil && len(served) > 0 {
		b.deps.Stores.keepFields(gr, newStatusFields(&b.deps, served[0], kind.Names.Plural, store.Storage(served[0])))
	}
	return store
}

// keepFor has a kind stored in the version that the releases beside this one read.
func keepFor[T registry.Object](b *Builder, kind *registry.Kind[T]) {
	t, ok := kind.Representation.(registry.Typed[T])
	if !ok || len(t.Versions) == 0 || !slices.Contains(b.versions, kind.Hub.GroupVersion()) {
		return
	}
	kinds := []schema.GroupVersionKind{kind.Hub}
	for i := range t.Versions {
		if v := t.Versions[i].Kind; slices.Contains(b.versions, v.GroupVersion()) {
			kinds = append(kinds, v)
		}
	}
	slices.SortStableFunc(kinds, func(x, y schema.GroupVersionKind) int {
		return cmp.Compare(slices.Index(b.versions, x.GroupVersion()), slices.Index(b.versions, y.GroupVersion()))
	})
	t.StorageVersion = b.deps.storageVersion(kinds)
	kind.Representation = t
}

// forgetFor has the writes of a kind forget the fields of features that are off. That
// comes after the keeping of managed fields, like whatever the server decides of an
// object, and before its generation is.
func forgetFor[T registry.Object](b *Builder, kind *registry.Kind[T]) {
	create := kind.Write.PrepareForCreate
	kind.Write.PrepareForCreate = func(ctx context.Context, obj T) {
		b.deps.Fields.Drop(obj, nil)
		if create != nil {
			create(ctx, obj)
		}
	}
	if kind.Names.Plural == forgetsLast {
		kind.Write.PrepareForUpdate = forgettingLast(b, kind.Write.PrepareForUpdate)
	} else {
		kind.Write.PrepareForUpdate = forgetting(b, kind.Write.PrepareForUpdate)
	}
	if kind.Status != nil {
		status := *kind.Status
		status.PrepareForUpdate = forgetting(b, status.PrepareForUpdate)
		kind.Status = &status
	}
	subresources := map[string]*registry.UpdateSubresource[T]{}
	for name, declared := range kind.Subresources {
		sub := *declared
		sub.PrepareForUpdate = forgetting(b, sub.PrepareForUpdate)
		subresources[name] = &sub
	}
	kind.Subresources = subresources
}

func forgetting[T registry.Object](b *Builder, prepare func(ctx context.Context, obj, old T)) func(ctx context.Context, obj, old T) {
	return func(ctx context.Context, obj, old T) {
		b.deps.Fields.Drop(obj, old)
		if prepare != nil {
			prepare(ctx, obj, old)
		}
	}
}

// forgetsLast is the resource of which everything that is sent counts as a change, even
// what is forgotten then.
const forgetsLast = "resourceslices"

func forgettingLast[T registry.Object](b *Builder, prepare func(ctx context.Context, obj, old T)) func(ctx context.Context, obj, old T) {
	return func(ctx context.Context, obj, old T) {
		prepare(ctx, obj, old)
		b.deps.Fields.Drop(obj, old)
	}
}
