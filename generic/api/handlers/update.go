package handlers

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/handlers/fieldmanager"
	"triplane.dev/generic/api/handlers/options"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/wire"
)

// Update serves update.
func Update(scope *RequestScope) http.HandlerFunc { return scope.mutate((*mutation).replace) }

func (m *mutation) replace() (_ runtime.Object, _ bool, err error) {
	if err := m.begin(); err != nil {
		return nil, false, err
	}
	if m.options, err = options.Read(m.req, &metav1.UpdateOptions{}, "UpdateOptions",
		validation.ValidateUpdateOptions); err != nil {
		return nil, false, err
	}
	if err := m.negotiateInput(); err != nil {
		return nil, false, err
	}
	sentObj, sent, err := m.object(m.options.FieldValidation)
	if err != nil {
		return nil, false, m.liveFirst(err)
	}
	r := rest.UpdateRequest{}
	if o, err := meta.Accessor(sentObj); err == nil {
		if err := matchNamespace(o, m.namespace); err != nil {
			return nil, false, err
		}
		if uid := o.GetUID(); uid != "" { // it must replace just that one
			r.Preconditions = &metav1.Preconditions{UID: &uid}
		}
	}
	if err := checkName(sentObj, m.name); err != nil {
		return nil, false, err
	}
	dedupOwners(m.ctx, sentObj, "")
	if err := m.by(m.options.FieldManager, m.options.DryRun); err != nil {
		return nil, false, err
	}
	r.Change = func(ctx context.Context, old runtime.Object) (runtime.Object, error) {
		obj, sent := sentObj.DeepCopyObject(), sent
		if m.fields != nil {
			if sent == sentObj {
				sent = obj // nothing was converted, so that there is nothing more to copy
			}
			obj = fieldmanager.Record(ctx, m.fields, fieldmanager.Write{Live: old, Object: obj, Sent: sent, Manager: m.manager})
		}
		return obj, m.admitted(ctx, obj, old)
	}
	return m.update(r)
}

// liveFirst returns the error of an update whose body could not be converted: that of the object
// which it would replace comes first.
func (m *mutation) liveFirst(err error) error {
	get := m.scope.Storage.Get
	if c := (*rest.ConversionError)(nil); get == nil || !errors.As(err, &c) {
		return err
	}
	live, liveErr := get(m.ctx, rest.GetRequest{Name: m.name, Options: &metav1.GetOptions{}})
	if liveErr != nil {
		return liveErr
	}
	if stored, ok := live.(rest.Stored); ok {
		if _, liveErr := stored.Wire(m.scope.Kind.GroupVersion(), wire.JSON); liveErr != nil {
			return liveErr
		}
	}
	return err
}

// admissionNamespace is the namespace that admission sees: namespaces are in themselves.
func (s *RequestScope) admissionNamespace(namespace, name string) string {
	if s.isNamespaces() {
		return name
	}
	return namespace
}
