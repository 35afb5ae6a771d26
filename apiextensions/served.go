package apiextensions

import (
	"context"
	"errors"
	"io"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/api/registry"
	"triplane/generic/api/rest"
	"triplane/generic/storage"
	"triplane/generic/storage/wire"
)

// stored is a store whose methods give way to those embedded beside it: they are
// one level deeper.
type stored struct{ *registry.Store[object] }

// served is the storage of a custom resource in one of its versions: the store
// of all versions, with the columns, selectable fields and deprecation that this
// one declares.
type served struct {
	stored
	*tableConvertor
	version *crVersion
}

// servedStatus is the subresource "status" of a version.
type servedStatus struct {
	subresource
	*tableConvertor
	versioned
}

// subresource is what the store's subresource "status" is.
type subresource interface {
	rest.Storage
	rest.Patcher
	rest.CodecProvider
	rest.ResetFieldsProvider
}

// servedScale is the subresource "scale" of a version.
type servedScale struct {
	scaleSubresource
	scaleTable
	versioned
}

// versioned are the versions of a subresource that admission can show it in.
type versioned []schema.GroupVersion

// ServedVersions are those versions.
func (v versioned) ServedVersions() []schema.GroupVersion { return v }

// versionsWith are the versions of a definition that have a subresource.
func (d *definition) versionsWith(subresource string) versioned {
	var all versioned
	for i := range d.crd.Spec.Versions {
		if v := d.versions[d.crd.Spec.Versions[i].Name]; v != nil && v.offers(subresource) {
			all = append(all, v.gvk.GroupVersion())
		}
	}
	return all
}

// scaleSubresource is what the store's subresource "scale" is.
type scaleSubresource interface {
	rest.Storage
	rest.Patcher
	rest.CodecProvider
	rest.KindProvider
}

// storageOf returns what answers the resource and its subresources in a version,
// by path.
func storageOf(store *registry.Store[object], v *crVersion) map[string]rest.Storage {
	plural, table := store.Kind().Names.Plural, &tableConvertor{codec: v.codec, columns: newColumns(v.spec)}
	all := map[string]rest.Storage{plural: &served{stored{v.selecting(store)}, table, v}}
	if sub, ok := store.Status().(subresource); ok && v.hasStatus() {
		all[plural+"/status"] = &servedStatus{sub, table, v.definition.versionsWith("status")}
	}
	if v.scale() != nil {
		if sub, ok := store.Scale(v.scaleSubresource()).(scaleSubresource); ok {
			all[plural+"/scale"] = &servedScale{sub, scaleTable{}, v.definition.versionsWith("scale")}
		}
	}
	return all
}

// DeprecationWarning implements rest.Deprecated.
func (s *served) DeprecationWarning() string { return s.version.deprecationWarning() }

// ConvertFieldLabel implements rest.FieldLabelConvertor.
func (s *served) ConvertFieldLabel(label, value string) (string, string, error) {
	return s.version.fieldLabel(label, value)
}

// Delete implements rest.GracefulDeleter. Where a webhook converts, an object
// that cannot be converted to the version is not deleted through it.
func (s *served) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, opts *metav1.DeleteOptions) (runtime.Object, bool, error) {
	if s.version.byWebhook() {
		obj, err := s.Read(ctx, name)
		if err != nil {
			return nil, false, err
		}
		if _, err := s.codec.FromHub(obj); err != nil {
			return nil, false, err
		}
	}
	return s.stored.Delete(ctx, name, validate, opts)
}

// DeleteCollection implements rest.CollectionDeleter. Nothing is deleted where the
// answer could not show it.
func (s *served) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, opts *metav1.DeleteOptions, list *metainternalversion.ListOptions) (runtime.Object, error) {
	if s.version.byWebhook() {
		found, err := s.List(ctx, list)
		if err != nil {
			return nil, err
		}
		if l, ok := found.(*rest.StoredList); ok {
			for _, item := range l.Items {
				if _, err := item.Wire(s.version.gvk.GroupVersion(), wire.JSON); err != nil {
					return nil, err
				}
			}
		}
	}
	return s.stored.DeleteCollection(ctx, validate, opts, list)
}

// Watch implements rest.Watcher. A watch that finds the cache dropped, as the
// definition has just changed, ends as those do that began before.
func (s *served) Watch(ctx context.Context, opts *metainternalversion.ListOptions) (rest.EventStream, error) {
	stream, err := s.stored.Watch(ctx, opts)
	if errors.Is(err, storage.ErrStopped) {
		return endedStream{}, nil
	}
	return stream, err
}

// endedStream is a watch without events.
type endedStream struct{}

func (endedStream) Next(context.Context) ([]rest.Event, error) { return nil, io.EOF }
func (endedStream) Initializing() bool                         { return false }

func (endedStream) Stop() {}
