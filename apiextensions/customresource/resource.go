package customresource

import (
	"context"
	"errors"
	"io"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

// Resource returns what serves the custom resource or a subresource of it in the version: the store
// of all versions, with the columns, selectable fields and deprecation that this one declares.
func (v *Version) Resource(store *registry.Store[object], subresource string) *rest.Resource {
	var r *rest.Resource
	switch subresource {
	case "":
		r = v.selecting(store).Resource()
		r.FieldLabel = v.fieldLabel
		if v.byWebhook() {
			v.deleteConvertible(r, store)
		}
		r.Watch = endingWatch(r.Watch)
	case "status":
		r = store.Status()
		r.Versions = v.definition.versionsWith(subresource)
	case "scale":
		r = store.Scale(v.scaleSubresource())
		r.Versions = v.definition.versionsWith(subresource)
	}
	r.Deprecation, r.ConvertToTable = v.DeprecationWarning(), scaleTable
	if subresource != "scale" {
		table := &tableConvertor{codec: v.codec, columns: newColumns(v.spec)}
		r.ConvertToTable, r.Row, r.RowColumns = table.convert, table.row, table.definitions
	}
	return r
}

// Offers reports whether the version has the subresource.
func (v *Version) Offers(subresource string) bool {
	switch subresource {
	case "":
		return true
	case "status":
		return v.hasStatus()
	case "scale":
		return v.scale() != nil
	}
	return false
}

// ScaleKind is the kind of the subresource "scale".
var ScaleKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// versionsWith are the versions of a definition that have a subresource, in which admission can show it.
func (d *Definition) versionsWith(subresource string) []schema.GroupVersion {
	var all []schema.GroupVersion
	for i := range d.crd.Spec.Versions {
		if v := d.versions[d.crd.Spec.Versions[i].Name]; v != nil && v.Offers(subresource) {
			all = append(all, v.gvk.GroupVersion())
		}
	}
	return all
}

// deleteConvertible restricts deletions, where a webhook converts, to objects that can be converted
// to the version: nothing is deleted that the response could not show.
func (v *Version) deleteConvertible(resource *rest.Resource, store *registry.Store[object]) {
	remove, list, removeAll := resource.Delete, resource.List, resource.DeleteCollection
	resource.Delete = func(ctx context.Context, r rest.DeleteRequest) (runtime.Object, bool, error) {
		obj, err := store.Read(ctx, r.Name)
		if err != nil {
			return nil, false, err
		}
		if _, err := v.codec.FromHub(obj); err != nil {
			return nil, false, err
		}
		return remove(ctx, r)
	}
	resource.DeleteCollection = func(ctx context.Context, r rest.DeleteCollectionRequest) (runtime.Object, error) {
		found, err := list(ctx, r.List)
		if err != nil {
			return nil, err
		}
		if l, ok := found.(*rest.StoredList); ok {
			for _, item := range l.Items {
				if _, err := item.Wire(v.gvk.GroupVersion(), wire.JSON); err != nil {
					return nil, err
				}
			}
		}
		return removeAll(ctx, r)
	}
}

// watchFunc is rest.Resource.Watch.
type watchFunc = func(ctx context.Context, opts *metainternalversion.ListOptions) (rest.EventStream, error)

// endingWatch returns a watch that, if it finds the cache dropped because the definition has just
// changed, ends as those do that began before.
func endingWatch(watch watchFunc) watchFunc {
	return func(ctx context.Context, opts *metainternalversion.ListOptions) (rest.EventStream, error) {
		stream, err := watch(ctx, opts)
		if errors.Is(err, storage.ErrStopped) {
			return endedStream{}, nil
		}
		return stream, err
	}
}

// endedStream is a watch without events.
type endedStream struct{}

func (endedStream) Next(context.Context) ([]rest.Event, error) { return nil, io.EOF }
func (endedStream) Notify(func())                              {}
func (endedStream) Initializing() bool                         { return false }

func (endedStream) Stop() {}
