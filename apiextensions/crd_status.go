package apiextensions

import (
	"context"
	"fmt"

	"triplane/generic/api/managedfields"
	"triplane/generic/api/registry"
)

// statusManager is the name in managed fields under which the server writes the
// status of CRDs.
const statusManager = "kube-apiserver"

// statusWriter writes the status of CRDs for the server itself, by the rules of
// the subresource "status".
type statusWriter struct {
	// store leaves schemas as storage holds them.
	store *registry.Store[definitionObject]
	// fields tracks who owns which field of the subresource.
	fields func() (*managedfields.Manager, error)
}

// write changes a CRD and returns it as it was written. change is called with the
// present one, time and again where writers race; it may set the status and the
// metadata, whose parts it replaces rather than changes. Its errors are returned.
func (w *statusWriter) write(ctx context.Context, name string, change func(crd definitionObject) error) (definitionObject, error) {
	fields, err := w.fields()
	if err != nil {
		return nil, err
	}
	return w.store.Modify(ctx, name, w.store.Kind().Status, false, func(crd definitionObject) error {
		live := *crd
		crd.Status = *crd.Status.DeepCopy()
		if err := change(crd); err != nil {
			return err
		}
		out, ok := fields.Update(ctx, &live, crd, statusManager).(definitionObject)
		if !ok {
			return fmt.Errorf("%T is no CustomResourceDefinition", out)
		}
		*crd = *out
		return nil
	})
}
