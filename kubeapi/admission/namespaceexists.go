package admission

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/group"
)

// namespaceExists rejects writes in namespaces that do not exist. Unlike NamespaceLifecycle it also rejects
// deletions.
//
// Options: --enable-admission-plugins; it is off by default. Metrics: none. Order: any.
type namespaceExists struct {
	operations
	stores *group.Stores
}

func newNamespaceExists(d *Dependencies) admission.Interface {
	return &namespaceExists{operations{admission.Create, admission.Update, admission.Delete}, d.Stores}
}

// Validate implements admission.ValidatingInterface.
func (p *namespaceExists) Validate(ctx context.Context, a *admission.Attributes) error {
	if a.Namespace == "" || a.Resource.GroupResource() == core("namespaces") {
		return nil
	}
	_, err := group.Namespaces(p.stores).Get(ctx, "", a.Namespace)
	if err != nil && !apierrors.IsNotFound(err) {
		return apierrors.NewInternalError(err)
	}
	return err
}
