package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/api/rest"
)

// subresourceUpdater serves update of a subresource that is the whole object,
// under rules of its own.
type subresourceUpdater[T Object] struct {
	store *Store[T]
	sub   *UpdateSubresource[T]
}

// subresource serves get, patch and update.
type subresource[T Object] struct{ subresourceUpdater[T] }

var (
	_ rest.Patcher             = subresource[Object]{}
	_ rest.Updater             = subresourceUpdater[Object]{}
	_ rest.CodecProvider       = subresourceUpdater[Object]{}
	_ rest.ResetFieldsProvider = subresourceUpdater[Object]{}
	_ rest.TableConvertor      = subresourceUpdater[Object]{}
)

// Subresource returns the storage of a subresource that updates the object.
func (s *Store[T]) Subresource(sub *UpdateSubresource[T]) rest.Storage {
	u := subresourceUpdater[T]{store: s, sub: sub}
	if sub.UpdateOnly {
		return u
	}
	return subresource[T]{u}
}

func (u subresourceUpdater[T]) New() runtime.Object { return u.store.New() }

func (u subresourceUpdater[T]) NamespaceScoped() bool { return u.store.NamespaceScoped() }

func (u subresourceUpdater[T]) CodecFor(gv schema.GroupVersion) (rest.Codec, error) {
	return u.store.CodecFor(gv)
}

// ServedVersions are those of the object.
func (u subresourceUpdater[T]) ServedVersions() []schema.GroupVersion {
	return u.store.ServedVersions()
}

func (u subresourceUpdater[T]) GetResetFields() rest.ResetFields {
	return u.store.resetInAll(u.sub.ResetFields)
}

func (u subresourceUpdater[T]) ConvertToTable(ctx context.Context, obj runtime.Object, opts *metav1.TableOptions) (*metav1.Table, error) {
	return u.store.ConvertToTable(ctx, obj, opts)
}

// RefusesTable implements rest.TableRefuser.
func (u subresourceUpdater[T]) RefusesTable() bool { return u.sub.NoTable }

// Update implements rest.Updater. Subresources never create.
func (u subresourceUpdater[T]) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, _ rest.ValidateObjectFunc,
	validate rest.ValidateObjectUpdateFunc, _ bool, opts *metav1.UpdateOptions) (runtime.Object, bool, error) {
	up := &update[T]{store: u.store, sub: u.sub, name: name, info: info, validateUpdate: validate,
		dryRun: opts != nil && isDryRun(opts.DryRun)}
	return up.run(ctx)
}

// Get implements rest.Getter.
func (u subresource[T]) Get(ctx context.Context, name string, opts *metav1.GetOptions) (runtime.Object, error) {
	return u.store.Get(ctx, name, opts)
}
