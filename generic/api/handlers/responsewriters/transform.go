package responsewriters

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/handlers/options"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage/object"
	"triplane.dev/generic/storage/wire"
)

// transformed encodes an object or list as a table or as metadata.
func (a *Response) transformed(obj runtime.Object) ([]byte, error) {
	var out runtime.Object
	var err error
	timer := request.Time(a.Request.Context(), request.Transformation)
	switch a.Output.Transform {
	case negotiation.Table:
		var opts *metav1.TableOptions
		if opts, err = a.tableOptions(); err == nil {
			out, err = a.table(obj, opts)
		}
	case negotiation.PartialObjectMetadata:
		out, err = a.partial(obj)
	default:
		var list *metav1.PartialObjectMetadataList
		if list, err = a.partialList(obj); err == nil {
			out = partialListOf(list, a.Output.Version)
		}
	}
	timer.Stop()
	if err != nil {
		return nil, err
	}
	defer request.Time(a.Request.Context(), request.Serialization).Stop()
	out.GetObjectKind().SetGroupVersionKind(a.Output.Kind())
	return wire.Marshal(out, a.Output.MediaType)
}

func isList(obj runtime.Object) bool {
	if _, ok := obj.(*rest.StoredList); ok {
		return true
	}
	if _, ok := obj.(rest.Stored); ok {
		return false
	}
	return meta.IsListType(obj)
}

func (a *Response) partial(obj runtime.Object) (runtime.Object, error) {
	if isList(obj) {
		name := a.Scope.GoName() + "List"
		return nil, negotiation.NotConvertible(
			fmt.Sprintf("you requested PartialObjectMetadata, but the requested object is a list (*%s)", name))
	}
	obj, err := decoded(obj)
	if err != nil {
		return nil, err
	}
	return partialOf(obj, a.Output.Version)
}

// partialOf is the metadata of an object.
func partialOf(obj runtime.Object, version string) (*metav1.PartialObjectMetadata, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	p := meta.AsPartialObjectMetadata(m)
	p.Kind, p.APIVersion = "PartialObjectMetadata", metav1.GroupName+"/"+version
	return p, nil
}

// renumbered reports whether the fields of a list of metadata have other numbers, as those of v1beta1 in protobuf.
func (a *Response) renumbered() bool {
	return a.Output.MediaType == wire.Protobuf && a.Output.Version == metav1beta1.SchemeGroupVersion.Version
}

// partialListOf is the list in a version of meta.k8s.io: the fields of v1beta1 have other
// numbers in protobuf.
func partialListOf(list *metav1.PartialObjectMetadataList, version string) runtime.Object {
	if version == metav1beta1.SchemeGroupVersion.Version {
		return &metav1beta1.PartialObjectMetadataList{ListMeta: list.ListMeta, Items: list.Items}
	}
	return list
}

func (a *Response) partialList(obj runtime.Object) (*metav1.PartialObjectMetadataList, error) {
	if !isList(obj) {
		return nil, negotiation.NotConvertible(
			fmt.Sprintf("you requested PartialObjectMetadataList, but the requested object is not a list (*%s)",
				a.Scope.GoName()))
	}
	list := &metav1.PartialObjectMetadataList{}
	add := func(item runtime.Object) error {
		p, err := partialOf(item, a.Output.Version)
		if err == nil {
			list.Items = append(list.Items, *p)
		}
		return err
	}
	stored, ok := obj.(*rest.StoredList)
	if !ok {
		list.ListMeta = listMeta(obj)
		return list, meta.EachListItem(obj, add)
	}
	list.ResourceVersion, list.Continue, list.RemainingItemCount = stored.ResourceVersion, stored.Continue,
		stored.RemainingItemCount
	list.ShardInfo = stored.Shard
	for _, item := range stored.Items {
		o, err := item.Decode()
		if err != nil {
			return nil, err
		}
		if err := add(o); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// tableOptions reads what a table shall contain from the query.
func (a *Response) tableOptions() (*metav1.TableOptions, error) {
	opts := &metav1.TableOptions{}
	if a.Request.URL.RawQuery == "" {
		return opts, nil
	}
	if err := options.Decode(a.Request.URL.Query(), opts); err != nil {
		return nil, err
	}
	switch errs := validation.ValidateTableOptions(opts); len(errs) {
	case 0:
		return opts, nil
	case 1:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs[0].Error()))
	default:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs))
	}
}

// table shows an object or list as a table of the negotiated version.
func (a *Response) table(obj runtime.Object, opts *metav1.TableOptions) (*metav1.Table, error) {
	obj, err := a.typedList(obj)
	if err != nil {
		return nil, err
	}
	table, err := a.Scope.Table(a.Request.Context(), obj, opts)
	if err != nil {
		return nil, err
	}
	for i := range table.Rows {
		if err := a.rowObject(&table.Rows[i], opts.IncludeObject); err != nil {
			return nil, err
		}
	}
	table.Kind, table.APIVersion = "Table", metav1.GroupName+"/"+a.Output.Version
	return table, nil
}

// rowObject replaces the object of a row by what the client wants of it.
func (a *Response) rowObject(row *metav1.TableRow, include metav1.IncludeObjectPolicy) error {
	switch include {
	case metav1.IncludeNone:
		row.Object = runtime.RawExtension{}
		return nil
	case metav1.IncludeObject:
		versioned, err := a.Scope.Codec.FromHub(row.Object.Object)
		if err != nil {
			return err
		}
		row.Object.Object = object.ViewOf(versioned).WithKind(versioned, a.Scope.Kind)
		return nil
	}
	p, err := partialOf(row.Object.Object, a.Output.Version)
	if err != nil {
		return err
	}
	row.Object.Object = p
	return nil
}

// typedList decodes what is still bytes, lists to the resource's typed list.
func (a *Response) typedList(obj runtime.Object) (runtime.Object, error) {
	stored, ok := obj.(*rest.StoredList)
	if !ok {
		return decoded(obj)
	}
	items := make([]runtime.Object, 0, len(stored.Items))
	for _, item := range stored.Items {
		o, err := item.Decode()
		if err != nil {
			return nil, err
		}
		items = append(items, o)
	}
	list := a.Scope.Storage.NewList()
	if err := meta.SetList(list, items); err != nil {
		return nil, err
	}
	if l, err := meta.ListAccessor(list); err == nil {
		l.SetResourceVersion(stored.ResourceVersion)
		l.SetContinue(stored.Continue)
		l.SetRemainingItemCount(stored.RemainingItemCount)
	}
	return list, nil
}
