package customresourcedefinition

import (
	"context"
	"fmt"

	"triplane.dev/generic/api/managedfields"
	"triplane.dev/generic/api/registry"
)

// statusManager is the name in managed fields under which the server writes the
// status of CRDs.
const statusManager = "kube-apiserver"

// StatusWriter writes the status of CRDs for the server itself, by the rules of
// the subresource "status".
type StatusWriter struct {
	// Store leaves schemas as storage holds them.
	Store *registry.Store[Object]
	// Fields tracks who owns which field of the subresource.
	Fields func() (*managedfields.Manager, error)
}

// Write changes a CRD and returns it as it was written. change is called with the
// present one, time and again where writers race; it may set the status and the
// metadata, whose parts it replaces rather than changes. Its errors are returned.
func (w *StatusWriter) Write(ctx context.Context, name string, change func(crd Object) error) (Object, error) {
	fields, err := w.Fields()
	if err != nil {
		return nil, err
	}
	return w.Store.Modify(ctx, name, w.Store.Kind().Status, false, func(crd Object) error {
		live := *crd
		crd.Status = *crd.Status.DeepCopy()
		if err := change(crd); err != nil {
			return err
		}
		out, ok := fields.Update(ctx, &live, crd, statusManager).(Object)
		if !ok {
			return fmt.Errorf("%T is no CustomResourceDefinition", out)
		}
		*crd = *out
		return nil
	})
}
