package control

import (
	"bytes"
	"context"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/api/registry"
	"triplane/generic/storage/wire"
	"triplane/kubeapi/group"
)

// Key is the key of an object in a controller's queue. The namespace of cluster-scoped objects is "".
type Key struct{ Namespace, Name string }

// KeyOf returns the key of an object of the feed.
func KeyOf(o *Object) Key { return Key{o.Namespace, o.Name} }

// Get returns a copy of an object from the watch cache.
func Get[T registry.Object](ctx context.Context, e *Env, gr schema.GroupResource, namespace, name string) (T, error) {
	return group.Get[T](Reading(ctx), e.Stores, gr, namespace, name, group.Cached)
}

// List returns copies of the objects of a namespace, "" for all, from the watch cache.
func List[T registry.Object](ctx context.Context, e *Env, gr schema.GroupResource, namespace string) ([]T, error) {
	return group.List[T](Reading(ctx), e.Stores, gr, namespace,
		&metainternalversion.ListOptions{ResourceVersion: group.Cached})
}

// Mentions reports whether an object's stored value contains a text. It is a cheap filter for objects that do not
// concern a controller.
func (o *Object) Mentions(text string) bool { return bytes.Contains(o.Value, []byte(text)) }

// Decode decodes an object of the feed whose kind has only one storage version.
func Decode[T interface{ Unmarshal([]byte) error }](o *Object, into T) (T, error) {
	return into, wire.UnmarshalStored(o.Value, into)
}
