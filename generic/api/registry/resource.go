package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage"
)

// AnyStore is a Store, whatever its objects are.
type AnyStore interface {
	Resource() *rest.Resource
	// KeyPrefix is the absolute prefix of the objects' keys, with a trailing slash, and Cache is what
	// the store reads from.
	KeyPrefix() string
	Cache() storage.Cache
	// DecodableVersions are the versions that the server reads objects in.
	DecodableVersions() []schema.GroupVersion
	// DecodeShared returns the object of a record in the hub version, or an error if it cannot be decrypted or decoded.
	// Others may have the object, too, so the caller must not change it.
	DecodeShared(r *storage.Record) (runtime.Object, error)
	// Rewrite returns the value for storage of a record's object after a change.
	Rewrite(r *storage.Record, change func(metav1.Object)) ([]byte, error)
}

var _ AnyStore = (*Store[kind.Object])(nil)

// DecodeShared implements AnyStore.
func (s *Store[T]) DecodeShared(r *storage.Record) (runtime.Object, error) {
	return s.shareDecoded(r, s.decode)
}

// shareDecoded returns the object of a record: the one that all have of a default, or the result of decode.
func (s *Store[T]) shareDecoded(r *storage.Record, decode func(*storage.Record) (T, error)) (runtime.Object, error) {
	if s.options.Decoded == nil || r.Err != nil {
		return decode(r)
	}
	return s.options.Decoded(r.Value(), func() (runtime.Object, error) { return decode(r) })
}

// Rewrite implements AnyStore.
func (s *Store[T]) Rewrite(r *storage.Record, change func(metav1.Object)) ([]byte, error) {
	obj, err := s.decode(r)
	if err != nil {
		return nil, err
	}
	change(obj)
	return s.encodeStored(obj)
}

// Resource returns what serves the kind, with the verbs that it has. It is the caller's own.
func (s *Store[T]) Resource() *rest.Resource {
	k, r := s.kind, s.described()
	r.NewList = s.newList
	r.StorageVersion, r.Deprecation, r.ReturnsDeleted = s.form.StoredAs(), k.Deprecation, k.Delete.ReturnsObjectIn
	r.Singular, r.ShortNames, r.Categories = k.Names.Singular, k.Names.ShortNames, k.Names.Categories
	r.ResetFields, r.FieldLabel = k.ResetFieldsIn(s.codecs, nil), k.FieldLabel
	r.Get, r.List, r.Watch, r.Create, r.Update = s.Get, s.List, s.Watch, s.Create, s.Update
	r.Delete, r.DeleteCollection = s.Delete, s.DeleteCollection
	r.Row, r.RowColumns = s.row, s.kind.TableColumns
	for _, verb := range k.Without {
		switch verb {
		case "create":
			r.Create = nil
		case "update":
			r.Update = nil
		case "delete":
			r.Delete = nil
		case "deletecollection":
			r.DeleteCollection = nil
		case "watch":
			r.Watch = nil
		}
	}
	return r
}

// Subresource returns what serves a subresource that is the whole object under other rules.
// It never creates.
func (s *Store[T]) Subresource(sub *kind.Subresource[T]) *rest.Resource {
	r := s.described()
	r.ResetFields, r.NoTable = s.kind.ResetFieldsIn(s.codecs, sub), sub.NoTable
	r.Update = func(ctx context.Context, r rest.UpdateRequest) (runtime.Object, bool, error) {
		u := &update[T]{store: s, sub: sub, UpdateRequest: r, dryRun: dryRunUpdate(r.Options)}
		return u.run(ctx)
	}
	if !sub.UpdateOnly {
		r.Get = s.Get
	}
	return r
}

// described is what a resource has in common with its subresources.
func (s *Store[T]) described() *rest.Resource {
	return &rest.Resource{New: s.New, Codec: s.CodecFor, Versions: s.served, Namespaced: s.kind.Namespaced,
		ConvertToTable: s.ConvertToTable}
}

// newList returns an empty list of the hub version.
func (s *Store[T]) newList() runtime.Object {
	if s.kind.NewList == nil {
		return &metav1.List{}
	}
	return s.kind.NewList()
}
