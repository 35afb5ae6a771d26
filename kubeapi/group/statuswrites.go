package group

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	library "k8s.io/apimachinery/pkg/util/managedfields"

	"triplane.dev/generic/api/endpoints"
	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/managedfields"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
)

// serverManager is the name in managed fields of what the server writes by itself.
const serverManager = "kube-apiserver"

// statusFields keeps the managed fields of a resource's status; nil are not kept.
type statusFields func() (*managedfields.Manager, error)

// newStatusFields returns what is made of a kind's resources on first use.
func newStatusFields(d *Deps, gv schema.GroupVersion, plural string,
	resources func(schema.GroupVersion) map[string]*rest.Resource) statusFields {
	if d.TypeConverter == nil {
		return nil
	}
	return sync.OnceValues(func() (*managedfields.Manager, error) {
		served := &endpoints.APIGroupVersion{GroupVersion: gv, Resources: resources(gv), Scheme: d.Scheme,
			TypeConverter: func() (library.TypeConverter, error) { return d.TypeConverter() }}
		status, err := served.Resource(plural + "/status")
		if err != nil {
			return nil, err
		}
		return status.Scope().FieldManager()
	})
}

// StatusWrite says whose status is written, and whether it only seems so.
type StatusWrite struct {
	Namespace, Name string
	DryRun          bool
}

// ModifyStatus changes an object's status for the server itself, which owns the fields
// then. change is called with the present object, time and again where writers race; its
// errors are returned. It is not a method for the reason of StoreOf.
func ModifyStatus[T kind.Object](ctx context.Context, h Handle[T], w StatusWrite, change func(T) error) (T, error) {
	var none T
	store := StoreOf(h)
	if store == nil {
		return none, fmt.Errorf("no storage for %s", h.resource)
	}
	fields, err := h.stores.fieldsOf(h.resource)
	if err != nil {
		return none, err
	}
	ctx = request.WithNamespace(ctx, w.Namespace)
	return store.Replace(ctx, w.Name, store.Kind().Status, w.DryRun, func(obj T) (T, error) {
		if fields == nil {
			return obj, change(obj)
		}
		live := obj.DeepCopyObject()
		if err := change(obj); err != nil {
			return none, err
		}
		owned, ok := fields.Update(ctx, live, obj, serverManager).(T)
		if !ok {
			return none, fmt.Errorf("%s: unexpected object %T", h.resource, owned)
		}
		return owned, nil
	})
}

// keepFields enters what keeps the managed fields of a resource's status.
func (s *Stores) keepFields(gr schema.GroupResource, f statusFields) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fields[gr] = f
}

// fieldsOf returns nil where managed fields are not kept.
func (s *Stores) fieldsOf(gr schema.GroupResource) (*managedfields.Manager, error) {
	s.need(gr)
	s.mu.RLock()
	f := s.fields[gr]
	s.mu.RUnlock()
	if f == nil {
		return nil, nil
	}
	return f()
}
